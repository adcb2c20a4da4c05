import type { AggregationName } from "./reference/aggregate.ts";
import type { KlName, SurrogateName } from "./surrogate.ts";

/** An algorithm: a row of choices from the tables of advantage, filter, surrogate, aggregation and KL. */
export interface Algorithm {
  readonly advantage: "grpo" | "drGrpo" | "rloo" | "correct";
  /** `spread` drops groups whose metric does not vary; `correct` drops groups without a correct member. */
  readonly filter: "spread" | "correct" | "none";
  /** The metric the filter looks at: the reward that is optimised, or one named part. */
  readonly filterMetric: string;
  readonly surrogate: SurrogateName;
  readonly aggregation: AggregationName;
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly kl: KlName;
  readonly klCoefficient: number;
}

const dmi: Algorithm = {
  advantage: "drGrpo",
  filter: "spread",
  filterMetric: "reward",
  surrogate: "ppoClip",
  aggregation: "tokenMean",
  clipLow: 0.2,
  clipHigh: 0.28,
  kl: "none",
  klCoefficient: 0,
};

/** What each name stands for; a key written in the YAML beside `preset` wins over its row. */
export const presets = {
  /** DAPO along Dr.GRPO's idea: no division by the group's std, no length normalisation, zero-spread filter on the reward. */
  dmi,
  /** GRPO as the team of five was trained: z-score, KL 0.01 to the reference. */
  "o-researcher": {
    ...dmi,
    advantage: "grpo",
    aggregation: "seqMeanTokenMean",
    clipHigh: 0.2,
    kl: "k3",
    klCoefficient: 0.01,
  },
  /** DAPO (arXiv 2503.14476): z-score, clip-higher, token-mean, groups filtered on exact match. */
  dapo: { ...dmi, advantage: "grpo", filterMetric: "exactMatch" },
  /** GRPO (arXiv 2402.03300): DAPO with one clip, per-sequence means, no filter. */
  grpo: {
    ...dmi,
    advantage: "grpo",
    filter: "none",
    aggregation: "seqMeanTokenMean",
    clipHigh: 0.2,
    kl: "k3",
    klCoefficient: 0.04,
  },
  /** Dr.GRPO (arXiv 2503.20783): centred rewards, a constant denominator. */
  "dr-grpo": { ...dmi, filter: "none", aggregation: "constant", clipHigh: 0.2 },
  /** Search-R1 (arXiv 2503.09516) with GRPO: k3 at 0.001. */
  "search-r1": {
    ...dmi,
    advantage: "grpo",
    filter: "none",
    aggregation: "seqMeanTokenMean",
    clipHigh: 0.2,
    kl: "k3",
    klCoefficient: 0.001,
  },
  /** The control: SFT on one's own correct episodes (RAFT, arXiv 2304.06767), same rollouts, same update count. */
  "rejection-sampling": {
    ...dmi,
    advantage: "correct",
    filter: "correct",
    filterMetric: "exactMatch",
    surrogate: "reinforce",
  },
} satisfies Record<string, Algorithm>;
export type PresetName = keyof typeof presets;
