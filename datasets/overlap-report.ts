import {
  type Likeness,
  likenesses,
  type OverlapOptions,
  OverlapSet,
  questionWords,
  type Twin,
} from "./overlap.ts";
import type { Task } from "./task.ts";

/** Questions of a benchmark that have a twin, each counted once, under its likest. */
export interface OverlapCounts {
  readonly exact: number;
  readonly normalised: number;
  readonly near: number;
  /** Of all three, those with a twin that has a gold answer in common. */
  readonly sameAnswer: number;
}

export interface OverlapReport {
  readonly counts: OverlapCounts;
  /** The likest twins, those with the same answer first. `task` is the benchmark's question. */
  readonly examples: readonly Twin[];
}

/** Counts questions of a benchmark by their likest twins; `offer` every twin, in any order. */
function collector(examples: number) {
  const best = new Map<string, Twin>();
  const better = (a: Twin, b: Twin | undefined) => b === undefined || order(a, b) < 0;
  return {
    offer(twin: Twin) {
      if (better(twin, best.get(twin.task.id))) best.set(twin.task.id, twin);
    },
    report(): OverlapReport {
      const found = [...best.values()].sort(order);
      const count = (kind: Likeness) => found.filter((twin) => twin.kind === kind).length;
      return {
        counts: {
          exact: count("exact"),
          normalised: count("normalised"),
          near: count("near"),
          sameAnswer: found.filter(({ sameAnswer }) => sameAnswer).length,
        },
        examples: found.filter(eachPairOnce()).slice(0, examples),
      };
    },
  };
}

/** Within one set a pair is found from both its ends. */
function eachPairOnce(): (twin: Twin) => boolean {
  const seen = new Map<Task, Set<Task>>();
  return ({ task, other }) => {
    seen.set(task, (seen.get(task) ?? new Set()).add(other));
    return seen.get(other)?.has(task) !== true;
  };
}

/** Same answer first, then the likest, then by ids: what is found does not depend on the order of looking. */
function order(a: Twin, b: Twin): number {
  const ids = (twin: Twin) => [twin.task.id, twin.other.id];
  return (
    Number(b.sameAnswer) - Number(a.sameAnswer) ||
    likenesses.indexOf(a.kind) - likenesses.indexOf(b.kind) ||
    b.similarity - a.similarity ||
    (ids(a) < ids(b) ? -1 : 1)
  );
}

/** Questions of a benchmark that are like another of the same benchmark. @param examples kept at most */
export function overlapWithin(tasks: readonly Task[], o: OverlapOptions, examples = 5): OverlapReport {
  const set = new OverlapSet(tasks, o);
  const found = collector(examples);
  for (const task of tasks) for (const twin of set.twins(task)) found.offer(twin);
  return found.report();
}

/** Questions of a benchmark that are like one of the training questions, which are looked at one by one. */
export function overlapWithTraining(
  benchmark: readonly Task[],
  training: Iterable<Task>,
  o: OverlapOptions,
  examples = 5,
): OverlapReport {
  const set = new OverlapSet(benchmark, o);
  const found = collector(examples);
  for (const task of training)
    for (const twin of set.twins(task)) found.offer({ ...twin, task: twin.other, other: task });
  return found.report();
}

/** Questions in the same words as an earlier one of the list, whatever their answers. */
export function countRepeats(tasks: readonly Task[]): number {
  return tasks.length - new Set(tasks.map(({ question }) => questionWords(question).join(" "))).size;
}
