import type { FormatRules } from "./well-formed.ts";

/** How weighted parts become one number. */
export const combinations = {
  /** The best-earned part alone: exact match 1.0, *else* 0.1 for a tag. */
  best: (earned) => (earned.length === 0 ? 0 : Math.max(...earned)),
  /** All parts together. */
  sum: (earned) => earned.reduce((total, value) => total + value, 0),
  /** Of one episode the sum; in a group each part is normalised before it is weighed (GDPO, arXiv 2601.05242). */
  gdpo: (earned) => earned.reduce((total, value) => total + value, 0),
} satisfies Record<string, (earned: readonly number[]) => number>;

export type CombinationName = keyof typeof combinations;

/** When a part counts: every part of `only` is 1, and none of `unless` is. */
export interface Gate {
  readonly only?: readonly string[] | undefined;
  readonly unless?: readonly string[] | undefined;
}

/** A weight that moves over the steps of RL: `from` until `start`, `to` from `start + steps` on. */
export interface WeightSchedule {
  readonly from: number;
  readonly to: number;
  /** Updates made when it begins to move. */
  readonly start: number;
  readonly steps: number;
  readonly shape: ScheduleShape;
}

/** Share of the way at the share x of the steps, both in [0, 1]. */
export const scheduleShapes = {
  linear: (x) => x,
  cosine: (x) => (1 - Math.cos(Math.PI * x)) / 2,
  /** All at once, at the end. */
  step: (x) => (x < 1 ? 0 : 1),
} satisfies Record<string, (x: number) => number>;
export type ScheduleShape = keyof typeof scheduleShapes;

export type Weight = number | WeightSchedule;

export interface RewardPreset {
  /** Weight of each part that counts; the others are kept raw beside it. */
  readonly weights: Readonly<Record<string, Weight>>;
  readonly gates: Readonly<Record<string, Gate>>;
  readonly combination: CombinationName;
  /** The reward is divided by the number of answer tags, at most by this; 1 never divides. */
  readonly maxDivisor: number;
  readonly format: FormatRules;
  /** Parts that must all be 1, or no part counts, whatever the weights: the reward is 0. */
  readonly requires?: readonly string[];
}

const plain = { gates: {}, combination: "sum", maxDivisor: 1, format: {} } as const;

export const rewardPresets = {
  /** Exact match 1.0, else 0.1 for an answer tag, else 0; divided by the number of answer tags, at most by 4. */
  dmi: { ...plain, weights: { exactMatch: 1, answerTag: 0.1 }, combination: "best", maxDivisor: 4 },
  /** Exact match alone (Search-R1, arXiv 2503.09516, eq. 4). */
  "search-r1": { ...plain, weights: { exactMatch: 1 }, combination: "best" },
  /** Search-R1 v0.3: right 1, or 0.8 when not well formed; wrong 0.2 when well formed, else 0.1 for an answer tag. */
  "search-r1-format": {
    ...plain,
    weights: { exactMatch: 0.8, format: 0.2, answerTag: 0.1 },
    // `retrieval` has no weight there; given one, it counts for wrong and well-formed episodes, as in its code.
    gates: {
      answerTag: { unless: ["exactMatch", "format"] },
      retrieval: { only: ["format"], unless: ["exactMatch"] },
    },
    format: { thinkFirst: true },
  },
  /** R1-Searcher, stage 2 (arXiv 2503.05592, Qwen): F1, minus 2 when not well formed or longer than ten words. */
  "r1-searcher": { ...plain, weights: { f1: 1, formatPenalty: 2 }, format: { maxAnswerWords: 10 } },
  /** A single researcher's parts in the proportions of the team of five: 0.5 result, 0.4 process, 0.1 format. */
  "o-researcher": { ...plain, weights: { exactMatch: 0.5, process: 0.4, format: 0.1 } },
  /** The team of five itself. Past its rounds the whole episode is worth 0. */
  team: {
    ...plain,
    weights: { exactMatch: 0.5, teamProcess: 0.4, teamFormat: 0.1 },
    requires: ["converged"],
  },
} satisfies Record<string, RewardPreset>;

/** One row, with every key of its kind. */
export const rewardPresetOf = (name: RewardPresetName): RewardPreset => rewardPresets[name];

export type RewardPresetName = keyof typeof rewardPresets;
export const rewardPresetNames = Object.keys(rewardPresets) as [RewardPresetName, ...RewardPresetName[]];
