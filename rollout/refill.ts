import type { Task } from "../datasets/task.ts";

export interface RefillOptions<G> {
  /** Groups wanted. */
  readonly tasksPerStep: number;
  /** Most extra batches; 0 trains on what the first leaves. */
  readonly refillBatches: number;
  /** Tasks of a batch, keyed by refill (0 is the step's own batch): at most `size`, fewer when the source runs dry. */
  readonly batch: (size: number, refill: number) => readonly Task[];
  /** Plays (and scores) the tasks. */
  readonly roll: (tasks: readonly Task[], refill: number) => Promise<readonly G[]>;
  /** Does the group carry signal? */
  readonly keep: (group: G) => boolean;
}

export interface Refilled<G> {
  /** Groups that carry signal, at most `tasksPerStep`, in the order they were asked for. */
  readonly kept: readonly G[];
  /** Every group that was rolled, those above included: what was paid for. */
  readonly sampled: readonly G[];
  /** Batches rolled, the first included. */
  readonly batches: number;
  /** Groups with signal beyond what the step wanted. */
  readonly surplus: number;
  /** Groups missing after the last batch: the step trains on what there is. */
  readonly missing: number;
}

/** However few groups survived, the next batch is at most this many times what is missing. */
const mostOversampling = 4;

/**
 * DAPO's dynamic sampling, bounded: rolls extra batches until `tasksPerStep` groups carry signal. A refill asks
 * for as many tasks as the survival so far says are needed, never more than a whole step's.
 */
export async function refill<G>(options: RefillOptions<G>): Promise<Refilled<G>> {
  const { tasksPerStep, refillBatches, batch, roll, keep } = options;
  const sampled: G[] = [];
  const kept: G[] = [];
  let batches = 0;
  let asked = 0;
  for (let number = 0; number <= refillBatches && kept.length < tasksPerStep; number++) {
    const missing = tasksPerStep - kept.length;
    const survival = asked === 0 ? 1 : kept.length / asked;
    const wanted = Math.ceil(missing / Math.max(survival, 1 / mostOversampling));
    const tasks = batch(Math.min(wanted, tasksPerStep), number);
    if (tasks.length === 0) break;
    batches++;
    asked += tasks.length;
    const groups = await roll(tasks, number);
    sampled.push(...groups);
    kept.push(...groups.filter(keep));
  }
  return {
    kept: kept.slice(0, tasksPerStep),
    sampled,
    batches,
    surplus: Math.max(0, kept.length - tasksPerStep),
    missing: Math.max(0, tasksPerStep - kept.length),
  };
}
