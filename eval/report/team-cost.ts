import { roleNames } from "../../env/team/roles.ts";
import type { StepMetrics } from "../../track/run-db.ts";
import { sampledTokensOf } from "../../track/sampled-tokens.ts";
import type { Prices } from "../cost.ts";

/** What one role did in all of training. */
export interface RoleCost {
  readonly role: string;
  readonly calls: number;
  readonly callsPerEpisode: number;
  /** Tokens that it wrote, its searches included. */
  readonly tokens: number;
  readonly tokensPerCall: number;
  /** Of the tokens of all roles. */
  readonly share: number;
}

/** Sampling for training at another size, at the speed and prices of this run. */
export interface Projection {
  readonly name: string;
  readonly trajectories: number;
  readonly tokensPerTrajectory: number;
  /** Sampled tokens. */
  readonly tokens: number;
  /** Steps alone, without warm-up and evaluations; absent where no step was timed. */
  readonly hours?: number;
  readonly cost?: { readonly amount: number; readonly currency: string };
}

/** Of episodes that a trajectory cache made by changing verified ones: how many held when they were verified again. */
export interface CacheValidity {
  readonly tried: number;
  readonly valid: number;
}

/** What a team's training cost, and what drives that. */
export interface TeamCost {
  readonly steps: number;
  /** Episodes of a team that were scored. */
  readonly episodes: number;
  /** Policy tokens of all episodes, broken ones included. */
  readonly sampledTokens: number;
  readonly tokensPerEpisode: number;
  readonly roles: readonly RoleCost[];
  /** Sampled tokens that are no role's call: of episodes that were cut short, and of compressions. */
  readonly otherTokens: number;
  /** Of all verdicts; absent where there was none. */
  readonly rejectionRate?: number;
  readonly unparsableRate?: number;
  /** In all episodes: wrong drafts rejected, right ones rejected, wrong ones passed. */
  readonly catches: number;
  readonly falseAlarms: number;
  readonly misses: number;
  /** Groups of one question, how many of those questions were others, and the share that repeated one. */
  readonly tasks?: { readonly sampled: number; readonly different: number; readonly duplicateRate: number };
  readonly cache?: CacheValidity & { readonly rate: number };
  readonly hours: {
    /** Wall time of the run, warm-up and evaluations included. */
    readonly total?: number;
    readonly sampling: number;
    readonly updating: number;
  };
  /** Sampled tokens over the time of their steps. */
  readonly tokensPerSecond?: number;
  readonly projections: readonly Projection[];
}

/** The scale that the team of five was described at: 15,000 tasks, eight episodes each, 4,000 tokens an episode. */
export const fullScale = { tasks: 15_000, trajectoriesPerTask: 8, tokensPerTrajectory: 4_000 } as const;

/**
 * The account of a run from what its steps recorded; undefined where no team played.
 * Money counts each token of a prompt or an observation once, as a server with a prefix cache does.
 */
export function teamCost(
  steps: readonly StepMetrics[],
  o: {
    /** Groups that were sampled, and different questions among them. */
    readonly tasks?: { readonly sampled: number; readonly different: number };
    readonly cache?: CacheValidity | undefined;
    readonly prices?: Prices | undefined;
    /** Wall time of the whole run. */
    readonly seconds?: number | undefined;
  } = {},
): TeamCost | undefined {
  const rl = steps.filter(({ phase }) => phase === "rl").map(({ metrics }) => metrics);
  const played = rl.filter((m) => m["team/rounds"] !== undefined);
  const episodesOf = (m: (typeof rl)[number]) =>
    m["team/episodes"] ?? (m.episodes ?? 0) * (1 - (m.infra_frac ?? 0));
  const episodes = Math.round(sum(played.map(episodesOf)));
  if (episodes === 0) return undefined;
  const total = (name: string) => sum(played.map((m) => (m[name] ?? 0) * episodesOf(m)));
  const all = (name: string) => sum(rl.map((m) => m[name] ?? 0));
  const sampledTokens = sum(rl.map(sampledTokensOf));
  const written = sum(roleNames.map((role) => total(`team/tokens/${role}`)));
  const verdicts = total("team/calls/verifier");
  const rate = (name: string) => {
    const told = played.filter((m) => m[name] !== undefined);
    const weights = told.map((m) => (m["team/calls/verifier"] ?? 0) * episodesOf(m));
    return verdicts === 0 || told.length === 0
      ? undefined
      : sum(told.map((m, i) => (m[name] as number) * (weights[i] as number))) / sum(weights);
  };
  const [rejectionRate, unparsableRate] = [rate("team/rejection_rate"), rate("team/unparsable_rate")];
  const seconds = sum(rl.map((m) => (m.tokens_per_second ? sampledTokensOf(m) / m.tokens_per_second : 0)));
  const tokensPerSecond = seconds > 0 ? sampledTokens / seconds : undefined;
  const { tasks, cache, prices } = o;
  // What is read for each token that is written.
  const read = Math.max(0, sum(rl.map((m) => (m.total_tokens ?? 0) * (m.episodes ?? 0))) / sampledTokens - 1);
  const priced = (tokens: number) =>
    prices && {
      amount: (tokens * (prices.completionPerMillionTokens + read * prices.promptPerMillionTokens)) / 1e6,
      currency: prices.currency,
    };
  const project = (name: string, tokensPerTrajectory: number): Projection => {
    const trajectories = fullScale.tasks * fullScale.trajectoriesPerTask;
    const tokens = trajectories * tokensPerTrajectory;
    const cost = priced(tokens);
    return {
      ...{ name, trajectories, tokensPerTrajectory, tokens },
      ...(tokensPerSecond === undefined ? {} : { hours: tokens / tokensPerSecond / 3600 }),
      ...(cost ? { cost } : {}),
    };
  };
  const tokensPerEpisode = sampledTokens / Math.max(1, all("episodes"));
  const wall = o.seconds ?? steps.at(-1)?.metrics.seconds_total;
  return {
    ...{ steps: rl.length, episodes, sampledTokens, tokensPerEpisode },
    roles: roleNames.flatMap((role): RoleCost[] => {
      const [calls, tokens] = [total(`team/calls/${role}`), total(`team/tokens/${role}`)];
      if (calls === 0) return [];
      const [callsPerEpisode, tokensPerCall] = [calls / episodes, tokens / calls];
      const share = written === 0 ? 0 : tokens / written;
      return [
        { role, calls: Math.round(calls), callsPerEpisode, tokens: Math.round(tokens), tokensPerCall, share },
      ];
    }),
    otherTokens: Math.max(0, Math.round(sampledTokens - written)),
    ...(rejectionRate === undefined ? {} : { rejectionRate }),
    ...(unparsableRate === undefined ? {} : { unparsableRate }),
    catches: Math.round(total("team/catches")),
    falseAlarms: Math.round(total("team/false_alarms")),
    misses: Math.round(total("team/misses")),
    ...(tasks && tasks.sampled > 0
      ? { tasks: { ...tasks, duplicateRate: 1 - tasks.different / tasks.sampled } }
      : {}),
    ...(cache && cache.tried > 0 ? { cache: { ...cache, rate: cache.valid / cache.tried } } : {}),
    hours: {
      ...(wall === undefined ? {} : { total: wall / 3600 }),
      sampling: all("seconds_rollout") / 3600,
      updating: all("seconds_update") / 3600,
    },
    ...(tokensPerSecond === undefined ? {} : { tokensPerSecond }),
    projections: [
      project("full scale", fullScale.tokensPerTrajectory),
      project("of this run's length", tokensPerEpisode),
    ],
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
