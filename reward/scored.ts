import type { TokenUsage, Trajectory } from "../rollout/trajectory.ts";

/** A trajectory with its reward. Every part is kept raw; `reward` is their combination. */
export interface Scored extends Trajectory {
  /** Raw value of each named part, e.g. { exactMatch: 1, answerTag: 1, repetitions: 2 }. */
  readonly parts: Readonly<Record<string, number>>;
  /** What is optimised. NaN never: infra outcomes are not Scored. */
  readonly reward: number;
  /** The judged answer as written (the last one), or undefined when there is none. */
  readonly prediction?: string;
  /** Tokens that its judge took, where one was asked and its server counts them. */
  readonly judging?: TokenUsage;
  /** What each turn was worth, [sequences][policy segments]; only of a scorer `withTurnCredits`. */
  readonly turnCredits?: readonly (readonly number[])[];
}

/**
 * Scores one trajectory. Pure: the same trajectory gives the same parts. Any such function is a scorer; the rest is there
 * for rewards that ask for it, and `score-all.ts` for callers that want not to know.
 */
export interface Scorer {
  (trajectory: Trajectory): Scored;
  /** The same with the weights as they are after `step` updates. Called by itself a scorer weighs as at 0. */
  readonly at?: (step: number) => Scorer;
  /** The same that also says what each turn was worth. Absent where it cannot. */
  readonly withTurnCredits?: () => Scorer;
  /** The same with the weights of some parts multiplied. Absent where there are no weights. */
  readonly reweighed?: (factors: Readonly<Record<string, number>>) => Scorer;
  /**
   * Fetches what scoring these needs from outside (a judge's verdicts). Resolves with why, for those that cannot be scored.
   * @throws RewardError when nothing more may be fetched; the signal's reason when aborted
   */
  readonly prepare?: (
    trajectories: readonly Trajectory[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<Trajectory, string>>;
  /** Rewards that depend on the group, from its scored members: the same members in the same order. */
  readonly regroup?: (members: readonly Scored[]) => Scored[];
  /** What its numbers depend on, for manifests (identity.ts). */
  readonly identity?: Readonly<Record<string, string | number | boolean>>;
  /** Keeps what is fetched in this folder. */
  readonly keepIn?: (folder: string) => void;
  readonly close?: () => void;
}
