import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import type { Task } from "../datasets/task.ts";
import { type EpisodeOptions, rollEpisode } from "./episode.ts";
import { makePrompt, type Prompt } from "./prompt.ts";
import type { BatchSampler, Sampler } from "./sampler.ts";
import { type Group, isPolicyOutcome, type Trajectory } from "./trajectory.ts";
import { type Place, waves } from "./waves.ts";

/** Plays one episode. Failures of infrastructure are outcomes of the trajectory; what is thrown ends the batch. */
export type PlayEpisode = (options: EpisodeOptions) => Promise<Trajectory>;

export interface RollOptions
  extends Pick<
    EpisodeOptions,
    "environment" | "tokenizer" | "renderer" | "decoding" | "seed" | "step" | "signal" | "players"
  > {
  /** A batch sampler plays all episodes at once, in waves; a plain one `concurrency` at a time. */
  readonly policy: Sampler | BatchSampler;
  /** Episodes per task, ≥ 1. */
  readonly groupSize: number;
  /** Fewest valid members a group needs; default 2 (1 for groups of one). */
  readonly minMembers?: number;
  /** Rows of one batch, for a batch sampler. */
  readonly maxRows: number;
  /** Episodes at a time, for a plain sampler. */
  readonly concurrency: number;
  /** How often one episode is played again after an infrastructure failure. */
  readonly retries: number;
  /** Pause before the first such repeat, doubled with each. */
  readonly retryDelayMs: number;
  /** Longest an episode may take, 0 for no limit; waiting for a batch sampler does not count. */
  readonly episodeTimeoutMs: number;
  /** Gives each episode against a plain sampler its slot, instead of `concurrency`: slots shared with other batches. */
  readonly limit?: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
  /** When it fires, open episodes end as infra(timeout): a step's deadline. What has ended by then stands. */
  readonly cut?: AbortSignal;
  /** 0, or the number of the refill batch: draws of the same task in one step differ. */
  readonly round?: number;
  /** How an episode is played; `rollEpisode` unless given. */
  readonly play?: PlayEpisode | undefined;
  /** Most episodes against a batch sampler that are open at a time; all unless given. More are played in parts. */
  readonly atOnce?: number | undefined;
  /** Told of every episode that is over, in the order they end (so: for progress only). */
  readonly onEpisode?: (trajectory: Trajectory) => void;
}

export interface Rolled {
  /** Groups with enough valid members, in the order of the tasks. */
  readonly groups: readonly Group[];
  /** Groups with too few, with the members they have: recorded, never trained on. */
  readonly tooFew: readonly Group[];
  /** Members that are in no group: infrastructure failed on every attempt, or the run was cancelled. */
  readonly leftOut: readonly Trajectory[];
  /** Failed attempts that were played again. */
  readonly retried: readonly Trajectory[];
}

/**
 * Plays `groupSize` episodes of each task. A member that infrastructure broke is played again, then left out:
 * it counts in no mean. Which episodes there are and what they draw depends on the options alone, not on timing.
 * A bug in one episode stops all others and is thrown when they have ended.
 */
export async function rollGroups(tasks: readonly Task[], options: RollOptions): Promise<Rolled> {
  const { policy, groupSize, minMembers = Math.min(2, groupSize), signal, cut } = options;
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // Every open episode listens.
  const abort = () => controller.abort();
  for (const each of [signal, cut]) {
    if (each?.aborted) abort();
    each?.addEventListener("abort", abort, { once: true });
  }
  const retried: Trajectory[] = [];
  const retry = (trajectory: Trajectory) => void retried.push(trajectory);

  try {
    const plans = plan(tasks, options);
    const open = opener(policy, options, controller.signal);
    let bug: { error: unknown } | undefined;
    const playAll = (part: readonly Plan[]) => {
      const rows = part.map(({ order, member }) => open(order, member));
      return Promise.all(
        part.map(async (each, i) => {
          const { run, sampler, leave } = rows[i] as Row;
          try {
            return await run(() => rollMember(each, sampler, options, controller.signal, retry));
          } catch (error) {
            bug ??= { error };
            abort();
            return undefined;
          } finally {
            leave();
          }
        }),
      );
    };
    const played: (Trajectory | undefined)[] = [];
    const size = "sampleBatch" in policy ? (options.atOnce ?? plans.length) : plans.length;
    for (let at = 0; at < plans.length; at += size)
      played.push(...(await playAll(plans.slice(at, at + size))));
    if (bug) throw bug.error;
    const trajectories = played as Trajectory[];
    const all = tasks.map((task, g) => ({
      task,
      members: trajectories
        .slice(g * groupSize, (g + 1) * groupSize)
        .filter(({ outcome }) => isPolicyOutcome(outcome)),
    }));
    return {
      groups: all.filter(({ members }) => members.length >= minMembers),
      tooFew: all.filter(({ members }) => members.length < minMembers),
      leftOut: trajectories.filter(({ outcome }) => !isPolicyOutcome(outcome)),
      retried: retried.sort((a, b) => byTask(tasks, a, b)),
    };
  } finally {
    for (const each of [signal, cut]) each?.removeEventListener("abort", abort);
  }
}

const cutFailure = "cut by the step's deadline";

/** Was the episode still open when its step's deadline cut it? */
export const isCut = ({ failure }: Trajectory): boolean => failure === cutFailure;

interface Plan {
  readonly task: Task;
  readonly order: number;
  readonly member: number;
  readonly key: string;
  readonly prompt: Prompt;
}

/** Every episode that will be played. A task that occurs again draws under another key. */
function plan(tasks: readonly Task[], options: RollOptions): Plan[] {
  const { groupSize, round = 0, renderer, tokenizer, policy } = options;
  const times = new Map<string, number>();
  return tasks.flatMap((task, order) => {
    const before = times.get(task.id) ?? 0;
    times.set(task.id, before + 1);
    const key = task.id + (round > 0 ? ` round ${round}` : "") + (before > 0 ? ` again ${before}` : "");
    const prompt = makePrompt(task, renderer, tokenizer, policy.contextTokens);
    return Array.from({ length: groupSize }, (_, member) => ({ task, order, member, key, prompt }));
  });
}

interface Row {
  readonly sampler: Sampler;
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
  readonly leave: () => void;
}

/** How episodes reach the policy: all at once in waves, or some at a time. */
function opener(policy: Sampler | BatchSampler, options: RollOptions, signal: AbortSignal) {
  if (!("sampleBatch" in policy)) {
    const own = pLimit(options.concurrency);
    const limit = options.limit ?? ((work) => own(work));
    return (): Row => ({ sampler: policy, run: (work) => limit(work, signal), leave: () => {} });
  }
  const { enter } = waves(policy, options.maxRows);
  return (order: number, member: number): Row => {
    const place: Place = enter(order, member);
    return { sampler: place, run: (work) => work(), leave: () => place.leave() };
  };
}

/** One member, played again while infrastructure fails and the budget lasts. Its place stays open in between. */
async function rollMember(
  { task, member, key, prompt }: Plan,
  sampler: Sampler,
  options: RollOptions,
  signal: AbortSignal,
  onRetry: (failed: Trajectory) => void,
): Promise<Trajectory> {
  const { environment, tokenizer, renderer, decoding, seed, step, policy, players } = options;
  const deadlines = { episodeMs: options.episodeTimeoutMs, countSampling: !("sampleBatch" in policy) };
  for (let attempt = 0; ; attempt++) {
    const played = await (options.play ?? rollEpisode)({
      task,
      member,
      key,
      prompt,
      environment,
      sampler,
      tokenizer,
      renderer,
      decoding,
      seed,
      step,
      signal,
      deadlines,
      attempt,
      players,
    });
    // The run goes on without it: the clock ended the episode, nobody called the run off.
    const trajectory: Trajectory =
      played.outcome === "cancelled" && options.cut?.aborted && !options.signal?.aborted
        ? { ...played, outcome: "infra(timeout)", failure: cutFailure }
        : played;
    if (!trajectory.outcome.startsWith("infra(") || attempt >= options.retries || signal.aborted) {
      options.onEpisode?.(trajectory);
      return trajectory;
    }
    onRetry(trajectory);
    if (options.retryDelayMs > 0)
      await sleep(options.retryDelayMs * 2 ** attempt, undefined, { signal }).catch(() => {});
  }
}

/** Attempts end in any order; the record has them in the order of tasks and members. */
function byTask(tasks: readonly Task[], a: Trajectory, b: Trajectory): number {
  return tasks.indexOf(a.task) - tasks.indexOf(b.task) || a.member - b.member;
}
