import type { Task } from "../datasets/task.ts";
import type { Scored, Scorer } from "../reward/scored.ts";
import type { Rolled } from "../rollout/groups.ts";
import { refill } from "../rollout/refill.ts";
import type { Group, Trajectory } from "../rollout/trajectory.ts";
import { classify, metricOf, type Verdict } from "./filter.ts";
import type { Algorithm } from "./presets.ts";

/** A scored group and what the filter says of it. */
export interface Judged {
  readonly group: Group<Scored>;
  readonly verdict: Verdict;
}

export interface Collected {
  /** Groups to learn from, at most as many as the step wants. */
  readonly kept: readonly Judged[];
  /** Every group sampled, in order, kept or not. */
  readonly sampled: readonly Judged[];
  /** Episodes that infrastructure ended: no reward, no place in a group's mean. */
  readonly failed: readonly Trajectory[];
  /** Batches sampled, refills included. */
  readonly batches: number;
  readonly seconds: { readonly rollout: number; readonly reward: number };
}

/** How each filter reads a group of two or more. `spread` drops what has no spread; `correct` drops what has nothing right. */
const filters: Record<Algorithm["filter"], (members: readonly Scored[], metric: string) => Verdict> = {
  spread: classify,
  correct: (members, metric) => (members.some((m) => metricOf(m, metric) === 1) ? "kept" : "allWrong"),
  none: () => "kept",
};

/** Samples, scores and filters, with DAPO's bounded refill: at the end the step trains on what there is. */
export async function collect(o: {
  readonly tasksPerStep: number;
  readonly refillBatches: number;
  readonly batch: (size: number, attempt: number) => readonly Task[];
  /** Plays G episodes of each task. */
  readonly roll: (tasks: readonly Task[], attempt: number) => Promise<Rolled>;
  readonly score: Scorer;
  readonly algorithm: Pick<Algorithm, "filter" | "filterMetric">;
  readonly clock: () => number;
}): Promise<Collected> {
  const failed: Trajectory[] = [];
  const seconds = { rollout: 0, reward: 0 };
  const { kept, sampled, batches } = await refill<Judged>({
    ...o,
    async roll(tasks, attempt) {
      const began = o.clock();
      const rolled = await o.roll(tasks, attempt);
      const scoring = o.clock();
      const judged = [...rolled.groups, ...rolled.tooFew].map(({ task, members }): Judged => {
        const group = { task, members: members.map(o.score) };
        return {
          group,
          verdict:
            group.members.length < 2
              ? "tooFew"
              : filters[o.algorithm.filter](group.members, o.algorithm.filterMetric),
        };
      });
      failed.push(...rolled.leftOut);
      seconds.rollout += scoring - began;
      seconds.reward += o.clock() - scoring;
      return judged;
    },
    keep: ({ verdict }) => verdict === "kept",
  });
  return { kept, sampled, failed, batches, seconds };
}
