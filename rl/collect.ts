import type { Task } from "../datasets/task.ts";
import { scoreGroups } from "../reward/score-all.ts";
import type { Scored, Scorer } from "../reward/scored.ts";
import { type TeamRules, watchTeam } from "../reward/team/watch.ts";
import type { Rolled } from "../rollout/groups.ts";
import { refill } from "../rollout/refill.ts";
import type { Group, Trajectory } from "../rollout/trajectory.ts";
import { judge, type Verdict } from "./filter.ts";
import type { Algorithm } from "./presets.ts";

/** A scored group and what the filter says of it. */
export interface Judged {
  readonly group: Group<Scored>;
  readonly verdict: Verdict;
}

export interface Collected {
  /** Groups to learn from, at most as many as the step wants. */
  readonly kept: readonly Judged[];
  /** Every group sampled, in order, kept or not; those in `kept` are the same objects. */
  readonly sampled: readonly Judged[];
  /** Episodes that infrastructure ended for good: no reward, no place in a group's mean. */
  readonly failed: readonly Trajectory[];
  /** Plays that infrastructure ended and that were played again. */
  readonly retries: number;
  /** Batches sampled, refills included. */
  readonly batches: number;
  readonly seconds: { readonly rollout: number; readonly reward: number };
}

/**
 * Samples, scores and filters, with DAPO's bounded refill: at the end the step trains on what there is. `refill` is 0 for
 * the step's own batch, then 1, 2, …
 */
export async function collect(o: {
  readonly tasksPerStep: number;
  readonly refillBatches: number;
  readonly batch: (size: number, refill: number) => readonly Task[];
  /** Plays G episodes of each task. */
  readonly roll: (tasks: readonly Task[], refill: number) => Promise<Rolled>;
  readonly score: Scorer;
  /** Acts on a team's episodes before they are judged. */
  readonly rules?: TeamRules | undefined;
  /** Ends what a reward waits for. */
  readonly signal?: AbortSignal;
  readonly algorithm: Pick<Algorithm, "filter" | "filterMetric">;
  readonly clock: () => number;
}): Promise<Collected> {
  const failed: Trajectory[] = [];
  const seconds = { rollout: 0, reward: 0 };
  let retries = 0;
  const { kept, sampled, batches } = await refill<Judged>({
    tasksPerStep: o.tasksPerStep,
    refillBatches: o.refillBatches,
    batch: o.batch,
    async roll(tasks, number) {
      const began = o.clock();
      const rolled = await o.roll(tasks, number);
      const scoring = o.clock();
      const scored = await scoreGroups(o.score, [...rolled.groups, ...rolled.tooFew], o.signal);
      const { groups, dropped } = o.rules ? watchTeam(scored.groups, o.rules) : { ...scored, dropped: [] };
      const judged = [
        ...groups.map((group): Judged => ({ group, verdict: judge(group.members, o.algorithm) })),
        ...dropped.map((group): Judged => ({ group, verdict: "hack" })),
      ];
      failed.push(...rolled.leftOut, ...scored.failed);
      retries += rolled.retried.length;
      seconds.rollout += scoring - began;
      seconds.reward += o.clock() - scoring;
      return judged;
    },
    keep: ({ verdict }) => verdict === "kept",
  });
  const wanted = new Set(kept);
  const placed = sampled.map((judged): Judged => {
    const over = judged.verdict === "kept" && !wanted.has(judged);
    return over ? { ...judged, verdict: "surplus" } : judged;
  });
  return { kept, sampled: placed, failed, retries, batches, seconds };
}
