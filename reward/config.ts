import { z } from "zod";
import { extractionNames } from "./extract.ts";
import { judgeConfig } from "./judge-config.ts";
import { normalizerIds } from "./normalize.ts";
import { processPartNames, repetitionPartNames } from "./parts.ts";
import {
  type CombinationName,
  combinations,
  type RewardPreset,
  rewardPresetNames,
  rewardPresetOf,
  type ScheduleShape,
  scheduleShapes,
} from "./presets.ts";
import { auditConfig, hacksConfig, teamRewardConfig } from "./team/config.ts";

const combinationNames = Object.keys(combinations) as [CombinationName, ...CombinationName[]];
const shapeNames = Object.keys(scheduleShapes) as [ScheduleShape, ...ScheduleShape[]];

const schedule = z.strictObject({
  from: z.number().describe("Weight until it begins to move."),
  to: z.number().describe("Weight at the end, and from then on."),
  start: z.int().min(0).default(0).describe("Updates made when it begins to move."),
  steps: z.int().min(0).describe("Updates over which it moves."),
  shape: z
    .enum(shapeNames)
    .default("linear")
    .describe("linear; cosine: slowly, fast, slowly; step: all at once at the end."),
});

const gate = z.strictObject({
  only: z.array(z.string()).optional().describe("It counts only where each of these parts is 1."),
  unless: z.array(z.string()).optional().describe("It counts only where none of these parts is 1."),
});

/** Section `reward`: how a finished episode becomes a number. */
export const rewardConfig = z
  .strictObject({
    preset: z
      .enum(rewardPresetNames)
      .default("dmi")
      .describe(
        "dmi: exact match 1, else 0.1 for an answer tag, divided by the number of answers, at most by 4; search-r1: exact match; search-r1-format: exact match 0.8 and format 0.2, else 0.1 for an answer tag; r1-searcher: F1, minus 2 when not well formed; o-researcher: exact match 0.5, process 0.4, format 0.1; team: exact match 0.5, teamProcess 0.4, teamFormat 0.1, and 0 altogether past the rounds. Keys below override its own.",
      ),
    weights: z
      .record(z.string(), z.union([z.number(), schedule]))
      .optional()
      .describe(
        "Weight of each part by its name, ours (docs/rewards.md) or one given to defineForager; a number, or {from, to, start, steps} over the updates of RL. Parts not named here do not count.",
      ),
    gates: z
      .record(z.string(), gate)
      .optional()
      .describe("When a part counts, e.g. { f1: { only: [format] } }: F1 counts only if well formed."),
    combination: z
      .enum(combinationNames)
      .optional()
      .describe(
        "best: the largest weighted part is the reward; sum: all weighted parts together; gdpo: the sum of parts that are each normalised in its group before weighting.",
      ),
    maxDivisor: z
      .int()
      .min(1)
      .optional()
      .describe("The reward is divided by the number of answer tags, at most by this; 1 never divides."),
    keep: z
      .array(z.string())
      .default([])
      .describe("Parts that are computed and kept beside those that count, e.g. to look at."),
    normalizer: z
      .enum(normalizerIds)
      .default("squad")
      .describe(
        "What makes answers comparable. squad: SQuAD's normalize_answer, as in Search-R1; flashrag: the same; r1-searcher: punctuation becomes a space; strict: keeps signs, numbers and articles that are the answer.",
      ),
    extraction: z
      .enum(extractionNames)
      .default("last")
      .describe("Which of several answers is judged: last, first, or only (a second answer forfeits both)."),
    format: z
      .strictObject({
        thinkFirst: z
          .boolean()
          .optional()
          .describe("Each turn is one <think> block and one action, white space alone around them."),
        maxAnswerWords: z.int().min(1).optional().describe("Longest answer in words."),
      })
      .optional()
      .describe("What else `format` and `formatPenalty` ask for. Default: the preset's."),
    repetition: z
      .strictObject({
        of: z
          .array(z.enum(repetitionPartNames))
          .min(1)
          .default([...repetitionPartNames])
          .describe("Parts whose mean `repetition` is."),
        ngram: z.int().min(1).max(50).default(4).describe("Words of an n-gram of `repeatedNgrams`."),
      })
      .prefault({})
      .describe("The part `repetition`."),
    process: z
      .strictObject({
        of: z
          .array(z.enum(processPartNames))
          .min(1)
          .default(["evidence", "novelSearch", "freshQuery", "supported"])
          .describe("Parts whose mean `process` is; evidence and turnCredit need ids of gold passages."),
      })
      .prefault({})
      .describe("The part `process`."),
    searchCost: z
      .strictObject({
        free: z.int().min(0).default(0).describe("Searches that cost nothing."),
      })
      .prefault({})
      .describe("The part `searchCost`."),
    length: z
      .strictObject({
        maxTokens: z
          .int()
          .min(1)
          .default(500)
          .describe("Policy tokens of an episode from which `length` is −1."),
        bufferTokens: z
          .int()
          .min(1)
          .default(100)
          .describe("Tokens before maxTokens over which it falls from 0; at most maxTokens."),
      })
      .refine(({ maxTokens, bufferTokens }) => bufferTokens <= maxTokens, {
        path: ["bufferTokens"],
        message: "at most maxTokens",
      })
      .prefault({})
      .describe("The part `length`: DAPO's soft punishment of long episodes; observations do not count."),
    judge: judgeConfig.optional().describe("The part `judge`: a language model that marks answers."),
    team: teamRewardConfig.prefault({}).describe("The parts that only a team can give (docs/team.md)."),
    hacks: hacksConfig
      .optional()
      .describe("Ways to cheat that are looked for in each step's episodes of a team."),
    audit: auditConfig
      .optional()
      .describe("A judge that looks at some of a team's training episodes; reported, never rewarded."),
  })
  .superRefine(({ judge, weights, gates, keep }, context) => {
    const named = [
      ...Object.keys(weights ?? {}),
      ...Object.values(gates ?? {}).flatMap(({ only = [], unless = [] }) => [...only, ...unless]),
      ...keep,
    ];
    if (named.includes("judge") && judge === undefined)
      context.addIssue({
        code: "custom",
        path: ["judge"],
        message: "the part `judge` needs a model that judges: give its url and model",
      });
  });

export type RewardConfig = z.infer<typeof rewardConfig>;

/** Weight of each part that counts: the YAML's own, else the preset's. */
export const weightsOf = ({
  preset,
  weights,
}: Pick<RewardConfig, "preset" | "weights">): RewardPreset["weights"] =>
  weights ?? rewardPresetOf(preset).weights;
