/** How weighted parts become one number. */
export const combinations = {
  /** The best-earned part alone: exact match 1.0, *else* 0.1 for a tag. */
  best: (earned) => (earned.length === 0 ? 0 : Math.max(...earned)),
  /** All parts together. */
  sum: (earned) => earned.reduce((total, value) => total + value, 0),
} satisfies Record<string, (earned: readonly number[]) => number>;

export type CombinationName = keyof typeof combinations;

export interface RewardPreset {
  /** Weight of each part that counts; the others are kept raw beside it. */
  readonly weights: Readonly<Record<string, number>>;
  readonly combination: CombinationName;
  /** The reward is divided by the number of answer tags, at most by this; 1 never divides. */
  readonly maxDivisor: number;
}

export const rewardPresets = {
  /** Exact match 1.0, else 0.1 for an answer tag, else 0; divided by the number of answer tags, at most by 4. */
  dmi: { weights: { exactMatch: 1, answerTag: 0.1 }, combination: "best", maxDivisor: 4 },
  /** Exact match alone (Search-R1, arXiv 2503.09516, eq. 4). */
  "search-r1": { weights: { exactMatch: 1 }, combination: "best", maxDivisor: 1 },
} satisfies Record<string, RewardPreset>;

export type RewardPresetName = keyof typeof rewardPresets;
export const rewardPresetNames = Object.keys(rewardPresets) as [RewardPresetName, ...RewardPresetName[]];
