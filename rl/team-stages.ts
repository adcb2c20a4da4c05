import { z } from "zod";
import type { StageConfig } from "./team-config.ts";

export const stageStateSchema = z.object({
  /** Place among the stages, from 0. */
  index: z.int().min(0),
  /** Steps in a row on which the metric has been where the stage ends. */
  hits: z.int().min(0),
});
/** Where a schedule stands: all that a resumed run needs of it. */
export type StageState = z.infer<typeof stageStateSchema>;

/** Says which adapters learn. It moves by what steps measured alone, so the same metrics give the same schedule. */
export interface Stages {
  readonly state: StageState;
  /** Does the adapter learn in the next step? */
  learns(adapter: string): boolean;
  /** Step number `done` is over. True when another stage begins. */
  after(done: number, metrics: Readonly<Record<string, number>>): boolean;
}

export function createStages(stages: readonly StageConfig[], from?: StageState): Stages {
  let state: StageState = from ?? { index: 0, hits: 0 };
  const last = Math.max(0, stages.length - 1);
  const reached = (until: NonNullable<StageConfig["until"]>, done: number, hits: number) =>
    until.step === undefined ? hits >= until.for : done >= until.step;
  return {
    get state() {
      return state;
    },
    learns(adapter) {
      const stage = stages[Math.min(state.index, last)];
      return stage === undefined || stage.learn.includes(adapter);
    },
    after(done, metrics) {
      const before = state.index;
      let { index, hits } = state;
      const until = stages[index]?.until;
      if (until?.metric !== undefined) hits = holds(until, metrics) ? hits + 1 : 0;
      // A stage whose step is over already when it begins is passed over; a metric counts from its stage's beginning.
      for (let end = until; index < last && end && reached(end, done, hits); end = stages[index]?.until) {
        index++;
        hits = 0;
      }
      state = { index, hits };
      return index !== before;
    },
  };
}

/** A step that did not measure the metric does not count for it. */
function holds(
  { metric = "", above, below }: NonNullable<StageConfig["until"]>,
  metrics: Readonly<Record<string, number>>,
): boolean {
  const value = metrics[metric];
  if (value === undefined) return false;
  return (above === undefined || value > above) && (below === undefined || value < below);
}
