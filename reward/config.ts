import { z } from "zod";
import { extractionNames } from "./extract.ts";
import { normalizerIds } from "./normalize.ts";
import { type CombinationName, combinations, rewardPresetNames } from "./presets.ts";

const combinationNames = Object.keys(combinations) as [CombinationName, ...CombinationName[]];

/** Section `reward`: how a finished episode becomes a number. */
export const rewardConfig = z.strictObject({
  preset: z
    .enum(rewardPresetNames)
    .default("dmi")
    .describe(
      "dmi: exact match 1, else 0.1 for an answer tag, divided by the number of answers, at most by 4; search-r1: exact match. Keys below override its own.",
    ),
  weights: z
    .record(z.string(), z.number())
    .optional()
    .describe(
      "Weight of each part: exactMatch, f1, coverMatch, answerTag, answers, or a part of your own given to defineForager. Parts not named here are kept but do not count.",
    ),
  combination: z
    .enum(combinationNames)
    .optional()
    .describe("best: the largest weighted part is the reward; sum: all weighted parts together."),
  maxDivisor: z
    .int()
    .min(1)
    .optional()
    .describe("The reward is divided by the number of answer tags, at most by this; 1 never divides."),
  normalizer: z
    .enum(normalizerIds)
    .default("squad")
    .describe(
      "What makes answers comparable. squad: SQuAD's normalize_answer, as in Search-R1 and FlashRAG.",
    ),
  extraction: z
    .enum(extractionNames)
    .default("last")
    .describe("Which of several answers is judged: last, first, or only (a second answer forfeits both)."),
});

export type RewardConfig = z.infer<typeof rewardConfig>;
