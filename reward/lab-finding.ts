import type { Lesson, Marks } from "./lab-group.ts";

/** Something about a reward that its user should know, found in stored groups. */
export interface Finding {
  /** Which rule found it. */
  readonly kind: string;
  /** The part, where it is of one. */
  readonly part?: string;
  readonly text: string;
}

/** A group as one reward sees it. */
export interface Watched {
  readonly marks: readonly Marks[];
  readonly lesson: Lesson | undefined;
}

/** Looks at every group under one reward, and says at the end what it found. Holds sums alone. */
export interface Watch {
  add(group: Watched): void;
  findings(): Finding[];
}

/** @param counting parts that decide something */
export type MakeWatch = (counting: readonly string[]) => Watch;

export const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
export const meanReward = (marks: readonly Marks[]) => sum(marks.map(({ reward }) => reward)) / marks.length;
export const wordsOf = (text: string) => text.split(/\s+/u).filter((word) => word !== "").length;
export const counted = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;
/** Two digits behind the point, more for what is small. */
export const show = (x: number) => (x === 0 || Math.abs(x) >= 0.01 ? x.toFixed(2) : x.toPrecision(1));
