import { z } from "zod";
import { dataConfig } from "../datasets/config.ts";
import { engineConfig } from "../engine/config.ts";
import { envConfig } from "../env/config.ts";
import { searchConfig } from "../env/search/config.ts";
import { evalConfig } from "../eval/config.ts";
import { rewardConfig } from "../reward/config.ts";
import { rlConfig, sftConfig } from "../rl/config.ts";
import { modelSchema } from "../rl/policy/config.ts";
import { rolloutConfig } from "../rollout/config.ts";
import { endpointConfig } from "../rollout/endpoint/config.ts";
import { trackConfig } from "../track/config.ts";
import { crossChecks } from "./checks.ts";

/** Section `run`: what this run is called, where its record goes, and the seed of every draw in it. */
export const runConfig = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "letters, digits, dots, dashes and underscores: it names a folder")
    .default("run")
    .describe("Name of the run, in tables and in the folder's name."),
  dir: z
    .string()
    .min(1)
    .optional()
    .describe("Run folder, relative to the working directory. Default: runs/<name>-<time>."),
  seed: z.int().min(0).default(1).describe("Seed of every random draw: the same seed gives the same run."),
});

/** Every section but `model`, which has no default. */
const sections = z.strictObject({
  run: runConfig.prefault({}).describe("Name, folder and seed."),
  engine: engineConfig.prefault({}).describe("Where tensors are computed."),
  model: modelSchema.describe("The policy."),
  data: dataConfig.prefault({}).describe("What it is trained on."),
  search: searchConfig.prefault({}).describe("What it searches."),
  env: envConfig.prefault({}).describe("How an episode is played."),
  rollout: rolloutConfig.prefault({}).describe("How groups of episodes are made."),
  endpoint: endpointConfig
    .optional()
    .describe("Inference servers that sample for the policy. Without it the policy samples in this process."),
  reward: rewardConfig.prefault({}).describe("How an episode becomes a number."),
  sft: sftConfig.prefault({}).describe("The supervised warm-up."),
  rl: rlConfig.prefault({}).describe("The reinforcement learning."),
  eval: evalConfig.prefault({}).describe("What is measured, when, and how."),
  track: trackConfig.prefault({}).describe("What is kept of the run."),
});

/** A whole config, as commands get it. */
export type Config = z.output<typeof sections>;

/** What may be written in a YAML file, and what holds between its sections. */
export const configSchema = sections.superRefine((config, context) => {
  for (const { path, check } of crossChecks) {
    const message = check(config);
    if (message) context.addIssue({ code: "custom", path: [...path], message });
  }
});
