import type { Config } from "../configs/schema.ts";
import { DataError } from "../core/errors.ts";
import { type Findings, RewardLab } from "../reward/lab.ts";
import { normalizerOf } from "../reward/normalize.ts";
import type { OwnPart } from "../reward/plan.ts";
import { temperatureAt } from "../rollout/temperature.ts";
import { type GroupStore, openGroups } from "../track/stored-groups.ts";
import { hasAgent } from "./agents.ts";
import type { Output } from "./output.ts";
import { csvWriter } from "./rescore-csv.ts";
import { type RescoredEvaluation, rescoreEvaluations, whyNotEvals } from "./rescore-evals.ts";
import { countingOf, type Remade, type RewardFile, remake } from "./rescore-reward.ts";
import { rescoreGroups } from "./rescore-run.ts";

export interface RescoreWork {
  /** A run folder and its config. */
  readonly folder: string;
  readonly config: Config;
  /** The reward to score by. */
  readonly fresh: RewardFile;
  /** Parts of the user's own. */
  readonly own: Readonly<Record<string, OwnPart>>;
  /** CSV file to write. */
  readonly out?: string | undefined;
  readonly examples: number;
  readonly evals: boolean;
  readonly output: Pick<Output, "progress" | "warn">;
  readonly signal: AbortSignal;
}

export interface Rescored {
  readonly remade: Remade;
  readonly found: Findings;
  readonly evaluations: readonly RescoredEvaluation[];
  /** Why the evaluations were left out. */
  readonly withoutEvaluations?: string;
}

/**
 * Scores a run's stored episodes under another reward. Reads the run and writes nothing into it, but a judge's verdicts.
 * @throws ConfigError for a part that the run cannot give; CheckpointError or DataError for a run without episodes
 */
export async function rescore(work: RescoreWork): Promise<Rescored> {
  const { folder, config, fresh, own, output, signal } = work;
  const remade = remake(fresh, config, own);
  const normalizer = normalizerOf(fresh.reward.normalizer);
  const store = openGroups(folder, (step) => temperatureAt(config.rollout, step - 1, config.rl.steps));
  try {
    if (store.episodes === 0) throw noEpisodes(folder);
    if (remade.plan.judged) {
      output.warn("the part `judge` asks its model about every answer without a verdict: this is inference");
      remade.train.keepIn?.(folder);
    }
    const lab = new RewardLab({
      counting: { before: countingOf(config, own), after: remade.counting },
      examples: work.examples,
    });
    const csv = work.out === undefined ? undefined : csvWriter(work.out, partsOf(remade, store));
    const bar = output.progress("scoring", store.episodes);
    try {
      await rescoreGroups(store, {
        ...{ remade, normalizer, lab, signal, ran: config.rl },
        tasksPerStep: config.rollout.tasksPerStep,
        onGroup: csv && ((group) => csv.add(group)),
        onEpisodes: (n) => bar.tick(n),
      });
      csv?.finish();
    } catch (error) {
      csv?.abort();
      throw error;
    } finally {
      bar.done();
    }
    const found = lab.findings();
    if (!work.evals) return { remade, found, evaluations: [] };
    const named = [...remade.counting, ...fresh.reward.keep, remade.algorithm.filterMetric];
    const withoutEvaluations = whyNotEvals(remade, {
      agent: hasAgent(config),
      own: named.filter((name) => Object.hasOwn(own, name)),
    });
    if (withoutEvaluations !== undefined) return { remade, found, evaluations: [], withoutEvaluations };
    return { remade, found, evaluations: await evaluationsOf(work, remade) };
  } finally {
    store.close();
    remade.train.close?.();
  }
}

/** Parts of the user's own are never asked about an evaluation's records: they hold too little. */
async function evaluationsOf(
  { folder, config, fresh, own, signal }: RescoreWork,
  made: Remade,
): Promise<RescoredEvaluation[]> {
  const remade = Object.keys(own).length === 0 ? made : remake(fresh, config, {});
  if (remade !== made && remade.plan.judged) remade.plain.keepIn?.(folder);
  try {
    const normalizer = normalizerOf(fresh.reward.normalizer);
    return await rescoreEvaluations(folder, { remade, normalizer, signal });
  } finally {
    if (remade !== made) remade.plain.close?.();
  }
}

const partsOf = ({ plan }: Remade, store: GroupStore): string[] => [
  ...new Set([...store.partNames(), ...plan.parts.map(([name]) => name), ...(plan.judged ? ["judge"] : [])]),
];

const noEpisodes = (where: string) =>
  new DataError({
    what: "the run has no episodes",
    where,
    next: "Score it anew once its first RL step is done.",
  });
