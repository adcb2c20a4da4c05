import type { Trajectory } from "../rollout/trajectory.ts";

/** A trajectory with its reward. Every part is kept raw; `reward` is their combination. */
export interface Scored extends Trajectory {
  /** Raw value of each named part, e.g. { exactMatch: 1, answerTag: 1, repetitions: 2 }. */
  readonly parts: Readonly<Record<string, number>>;
  /** What is optimised. NaN never: infra outcomes are not Scored. */
  readonly reward: number;
  /** The judged answer as written (the last one), or undefined when there is none. */
  readonly prediction?: string;
}

/** Scores one trajectory. Pure: the same trajectory gives the same parts. */
export type Scorer = (trajectory: Trajectory) => Scored;
