/** What one reward says of one episode. */
export interface Marks {
  readonly reward: number;
  /** Raw value of each part. */
  readonly parts: Readonly<Record<string, number>>;
  /** The judged answer as written. */
  readonly prediction?: string | undefined;
}

/** One episode under two rewards. */
export interface LabMember {
  /** Place in its group. */
  readonly member: number;
  readonly before: Marks;
  readonly after: Marks;
}

/** What comes of a group under one reward. */
export interface Lesson {
  /** "kept", or why nothing is learned from it. */
  readonly verdict: string;
  /** Of each member, in order; absent where nothing is learned. */
  readonly advantages?: readonly number[];
  /** Where turns are credited. */
  readonly turns?: TurnTally;
}

/** What the turns of some episodes were worth, and what that does to the tokens that are learned from. */
export interface TurnTally {
  readonly turns: number;
  /** Sum over the turns. */
  readonly credit: number;
  /** Tokens learned from, and those of them whose advantage has another sign than their episode's. */
  readonly tokens: number;
  readonly flipped: number;
}

/** One group under two rewards: the same episodes, in the same order. */
export interface LabGroup {
  /** Updates made once its step was over, from 1. */
  readonly step: number;
  /** Place in its step. */
  readonly group: number;
  readonly taskId: string;
  readonly question: string;
  readonly goldenAnswers: readonly string[];
  readonly members: readonly LabMember[];
  /** Absent where nothing was to be learned, as in an evaluation. */
  readonly lessons?: Both<Lesson>;
}

export type Side = "before" | "after";
export type Both<T> = Readonly<Record<Side, T>>;

/** Values no further apart than this are equal: the tolerance of the filter. */
export const tolerance = 1e-6;

export const spreadOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : Math.max(...values) - Math.min(...values);

export const marksOf = ({ members }: LabGroup, side: Side): Marks[] => members.map((each) => each[side]);

/** Does the group hold right and wrong answers? */
export function isMixed(marks: readonly Marks[]): boolean {
  return spreadOf(marks.map(({ parts }) => parts.exactMatch ?? 0)) > tolerance;
}
