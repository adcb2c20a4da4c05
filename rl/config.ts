import { z } from "zod";
import { filePath } from "../core/path-schema.ts";
import { hopMixConfig } from "../datasets/config.ts";
import { episodeFormats } from "../datasets/episodes/formats.ts";
import { type ExpertPreset, expertPresets } from "../env/experts/habits.ts";
import { type TeamPreset, teamPresets } from "../env/team/experts/expert.ts";
import { roleNames } from "../env/team/roles.ts";
import type { ImportanceMode } from "./importance.ts";
import { interventionsConfig } from "./interventions/config.ts";
import { type Algorithm, type PresetName, presets } from "./presets.ts";
import { type ImportanceConfig, importanceConfig, paceConfig } from "./remote-config.ts";
import { teamLearningConfig } from "./team-config.ts";

const names = Object.keys(presets) as [PresetName, ...PresetName[]];
type AnyHabits = ExpertPreset | TeamPreset;
const habits = [...new Set([...Object.keys(expertPresets), ...Object.keys(teamPresets)])] as [
  AnyHabits,
  ...AnyHabits[],
];
const positive = z.number().positive();

export const scheduleConfig = z.strictObject({
  learningRate: positive
    .default(1e-5)
    .describe("Peak learning rate. Usual: 1e-6 full, 1e-5 LoRA, 5e-4 tiny."),
  warmupSteps: z.int().min(0).default(0).describe("Steps of linear rise from 0 to the peak."),
  decay: z.enum(["constant", "linear"]).default("constant").describe("What the rate does after the warm-up."),
  decayFrom: z.number().min(0).max(1).default(0).describe("Share of all steps after which the decay begins."),
  finalFraction: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe("Rate at the last step, as a fraction of the peak."),
});
export type Schedule = z.infer<typeof scheduleConfig>;

export const optimizerConfig = z.strictObject({
  beta1: z.number().min(0).lt(1).default(0.9).describe("Decay of the mean of gradients."),
  beta2: z.number().min(0).lt(1).default(0.999).describe("Decay of the mean of squared gradients."),
  epsilon: positive.default(1e-8).describe("Added to the root of the second moment, against division by 0."),
  weightDecay: z
    .number()
    .min(0)
    .default(0)
    .describe("AdamW's decoupled decay of all weights that learn, per unit of learning rate."),
  maxGradNorm: positive.default(1).describe("Global L2 norm above which gradients are scaled down."),
});

export const rlConfig = z
  .strictObject({
    preset: z
      .enum(names)
      .default("dmi")
      .describe("Row of algorithm choices; any key below overrides its own."),
    steps: z
      .int()
      .min(0)
      .default(100)
      .describe("Updates of the policy's rollouts: one step samples, scores and learns once."),
    sampledTokens: z
      .int()
      .min(1)
      .optional()
      .describe(
        "Training ends after the step in which the tokens sampled so far by the policy reach this, episodes that nothing was learnt from included; `steps` is then the most. Schedules still count steps. Default: `steps` alone.",
      ),
    updatesPerStep: z
      .int()
      .min(1)
      .max(16)
      .default(1)
      .describe("Optimiser steps per batch of rollouts. With 1 the ratio is 1 and clipping idle."),
    advantage: z
      .enum(["grpo", "drGrpo", "rloo", "correct"])
      .optional()
      .describe(
        "grpo: centred and divided by the group's std; drGrpo: centred; rloo: against the mean of the others; correct: 1 for a right answer (exact match), else 0, whatever the reward.",
      ),
    filter: z
      .enum(["spread", "correct", "none"])
      .optional()
      .describe("spread drops groups whose metric does not vary, correct those without a correct member."),
    filterMetric: z
      .string()
      .optional()
      .describe("`reward`, or the name of a reward part such as exactMatch."),
    surrogate: z
      .enum(["ppoClip", "cispo", "gspo", "reinforce"])
      .optional()
      .describe("What is maximised for one token, from the ratio of new to old policy and the advantage."),
    aggregation: z
      .enum(["tokenMean", "tokenMeanSampled", "seqMeanTokenMean", "seqMeanTokenSum", "constant"])
      .optional()
      .describe("What a sum over tokens is divided by."),
    constantTokens: z.int().min(1).default(500).describe("Tokens a row in the denominator of `constant`."),
    clipLow: z.number().min(0).max(1).optional().describe("The ratio is clipped below at 1 − clipLow."),
    clipHigh: z.number().min(0).optional().describe("The ratio is clipped above at 1 + clipHigh."),
    kl: z
      .enum(["none", "k2", "k3"])
      .optional()
      .describe(
        "KL to the policy as RL began. k1 is not offered: as a loss its gradient is zero in expectation.",
      ),
    klCoefficient: z.number().min(0).optional().describe("Weight of the KL term in the loss."),
    entropyCoefficient: z.number().min(0).default(0).describe("Weight of the entropy bonus in the loss."),
    overlong: z
      .enum(["score", "mask", "penalty"])
      .default("score")
      .describe(
        "Long episodes. score: as what they are; mask: those cut at a token limit stay in the baseline but out of the loss; penalty: DAPO's soft punishment, 0 to −1, is added to the reward.",
      ),
    overlongTokens: z
      .int()
      .min(1)
      .default(500)
      .describe("Policy tokens of an episode from which the penalty is −1 (overlong: penalty)."),
    overlongBuffer: z
      .int()
      .min(1)
      .default(100)
      .describe("Tokens before overlongTokens over which it grows from 0; at most overlongTokens."),
    turnCredit: z
      .number()
      .min(0)
      .default(0)
      .describe(
        "Weight of credit by turn: a turn's advantage is its episode's plus this times (the turn's credit − the mean over all turns of its group). Needs searches on record and `supporting_ids` in the training questions; 0 is off.",
      ),
    team: teamLearningConfig
      .optional()
      .describe("How the roles of a team learn together: credit of unequal calls, and who learns when."),
    importance: importanceConfig
      .prefault({})
      .describe("What is done about the gap between the sampler's probabilities and the trainer's."),
    ...paceConfig,
    interventions: interventionsConfig
      .prefault({})
      .describe("What the run does by itself when a collapse begins; every rule is off unless it is named."),
    schedule: scheduleConfig.prefault({}).describe("Learning rate over the steps."),
    optimizer: optimizerConfig.prefault({}).describe("AdamW."),
    slots: z
      .int()
      .min(16)
      .default(4096)
      .describe(
        "Token slots of one micro-batch, padding included. Lower it to use less memory; the gradient does not change.",
      ),
  })
  .refine(
    ({ overlong, overlongTokens, overlongBuffer }) =>
      overlong !== "penalty" || overlongBuffer <= overlongTokens,
    {
      path: ["overlongBuffer"],
      message: "at most overlongTokens",
    },
  )
  .refine(
    ({ turnCredit, preset, advantage = presets[preset].advantage }) =>
      turnCredit === 0 || advantage !== "correct",
    {
      path: ["turnCredit"],
      message:
        "`advantage: correct` imitates right episodes whole, so no turn of them can count less: set turnCredit to 0, or choose another advantage",
    },
  );
export type RlConfig = z.infer<typeof rlConfig>;

const sftSchedule = {
  learningRate: 3e-3,
  warmupSteps: 40,
  decay: "linear",
  decayFrom: 0.6,
  finalFraction: 0.05,
} as const;
const hopMix = hopMixConfig
  .default({ 1: 5, 2: 3, 3: 2 })
  .describe("Weights of one-, two- and three-hop demonstrations (synthetic world).");
const demonstrations = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("experts"),
      habits: z
        .enum(habits)
        .default("clean")
        .describe("Which scripted demonstrators: clean, hasty, random; of a team: clean, careful, hasty."),
      vary: z
        .boolean()
        .default(false)
        .describe(
          "A team: leave roles out now and then, another set in each episode, so that one policy learns every make-up of the team.",
        ),
    }),
    z.strictObject({
      kind: z.literal("trajectories"),
      path: filePath().describe(
        "File of episodes (JSONL, Parquet, Arrow): an export of a run, an evaluation's records.jsonl, chats; see docs/export.md.",
      ),
      format: z
        .enum(episodeFormats)
        .optional()
        .describe("What the file's records are; told from the first one when absent."),
      onlyRight: z
        .boolean()
        .default(false)
        .describe("Leave out episodes whose judged answer is not right by the file's gold answers."),
    }),
  ])
  .prefault({ kind: "experts" })
  .describe("Where demonstrations come from.");

const learn = z
  .array(z.enum(roleNames))
  .min(1)
  .optional()
  .describe(
    "Roles of a team whose turns are learnt from; all unless given. The adapters of the others get no update.",
  );

export const sftConfig = z.strictObject({
  steps: z.int().min(0).default(0).describe("Supervised steps before RL; 0 skips the warm-up."),
  source: demonstrations,
  hopMix,
  learn,
  slots: z.int().min(16).default(4096).describe("Token slots of one step, padding included."),
  observationWeight: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("Loss weight of tokens the policy did not write (1 = as its own)."),
  schedule: scheduleConfig.prefault(sftSchedule).describe("Learning rate over the steps."),
  optimizer: optimizerConfig.prefault({ beta2: 0.98 }).describe("AdamW."),
  more: z
    .array(
      z.strictObject({
        steps: z.int().min(1).describe("Supervised steps of this stage."),
        source: demonstrations,
        hopMix,
        learn,
        schedule: scheduleConfig.prefault(sftSchedule),
      }),
    )
    .default([])
    .describe("Further stages, each on its own demonstrations with a fresh optimiser."),
});
export type SftConfig = z.infer<typeof sftConfig>;

/** The preset's row with the YAML's own keys on top. */
export function algorithmOf(config: RlConfig): Algorithm {
  const row = presets[config.preset];
  const own = Object.fromEntries(
    Object.keys(row).flatMap((key) => {
      const value = config[key as keyof RlConfig];
      return value === undefined ? [] : [[key, value]];
    }),
  );
  return { ...row, ...own };
}

/** The importance weights of a run: what the YAML says, else token with a server and none in process. */
export function importanceOf(
  { importance }: Pick<RlConfig, "importance">,
  remote: boolean,
): ImportanceConfig & { readonly mode: ImportanceMode } {
  return { ...importance, mode: importance.mode ?? (remote ? "token" : "none") };
}

/** One stage of the warm-up, with the step it begins at. */
export interface SftStage extends Pick<SftConfig, "steps" | "source" | "hopMix" | "schedule" | "learn"> {
  readonly from: number;
}

/** The stages of a warm-up; none when `sft.steps` is 0. */
export function sftStages(sft: SftConfig): SftStage[] {
  if (sft.steps === 0) return [];
  let from = 0;
  return [sft, ...sft.more].map((stage) => {
    const placed = { ...stage, from };
    from += stage.steps;
    return placed;
  });
}

/** Supervised steps of all stages. */
export const sftSteps = (sft: SftConfig): number => sftStages(sft).reduce((n, stage) => n + stage.steps, 0);
