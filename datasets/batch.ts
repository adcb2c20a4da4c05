import { ConfigError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import type { Guide } from "./guide.ts";
import type { Task } from "./task.ts";

/** Where a step's questions come from. Pure: the same arguments give the same tasks, in the same order. */
export interface TaskSource {
  /**
   * Tasks of one step, [size]. `refill` 0 is the step's own batch; 1, 2, … are refills when groups were
   * dropped, and hold other tasks than the batches before as long as there are any. `guide` is what the run has shown so
   * far, the same for all batches of a step; a source may take no notice of it.
   */
  batch(step: number, size: number, refill?: number, guide?: Guide): readonly Task[];
  /** It asks the guide for solve rates. */
  readonly measured?: boolean;
}

export interface BatchKey {
  readonly seed: number;
  /** From 0. */
  readonly step: number;
  readonly size: number;
  readonly refill?: number;
}

/**
 * Batch `step` of an endless run over a finite list. An epoch is one keyed permutation cut into batches; the
 * tasks left over at its end (n mod size, others each time) sit that epoch out, so no batch meets a task twice.
 * A size above n takes whole permutations, one after the other. The list's order does not matter, only its ids.
 * @throws ConfigError for an empty list.
 */
export function batch(tasks: readonly Task[], key: BatchKey): Task[] {
  return taskSource(tasks, key.seed).batch(key.step, key.size, key.refill) as Task[];
}

/** `batch` over one list, for every step; the last epoch's permutation is kept. */
export function taskSource(tasks: readonly Task[], seed: number): TaskSource {
  if (tasks.length === 0)
    throw new ConfigError({ what: "there are no tasks to draw from", next: "Name a file with questions." });
  const sorted = [...tasks].sort((a, b) => (a.id < b.id ? -1 : 1));
  const n = sorted.length;
  const permutation = epochs(sorted, seed, "epoch");
  const own = (step: number, size: number): Task[] => {
    if (size > n) {
      const rounds = Math.ceil(size / n);
      const all = Array.from({ length: rounds }, (_, i) => permutation(step * rounds + i)).flat();
      return all.slice(0, size);
    }
    const perEpoch = Math.floor(n / size);
    const from = (step % perEpoch) * size;
    return permutation(Math.floor(step / perEpoch)).slice(from, from + size);
  };
  return {
    batch(step, size, refill = 0) {
      const first = own(step, size);
      if (refill === 0) return first;
      // Refills walk through what the step has not used, then through everything again.
      const used = new Set(first);
      const rest = rng(seed, "refill", step).shuffle(sorted.filter((task) => !used.has(task)));
      const pool = [...rest, ...first];
      const from = (refill - 1) * size;
      return Array.from({ length: size }, (_, i) => pool[(from + i) % pool.length] as Task);
    },
  };
}

/** Keyed permutations of a list, one an epoch: pure, and the last one asked for is kept. */
export function epochs<T>(items: readonly T[], seed: number, purpose: string): (epoch: number) => T[] {
  let kept: { epoch: number; order: T[] } | undefined;
  return (epoch) => {
    if (kept?.epoch !== epoch) kept = { epoch, order: rng(seed, purpose, epoch).shuffle(items) };
    return kept.order;
  };
}
