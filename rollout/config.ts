import { z } from "zod";
import { promptConfig } from "./renderer-config.ts";

/** Section `rollout`: how groups of episodes are made. */
export const rolloutConfig = z.strictObject({
  tasksPerStep: z.int().min(1).default(32).describe("Questions in a training step; each becomes a group."),
  groupSize: z
    .int()
    .min(2, "at least 2: an episode is compared with others of its question; take 8, or 4 if memory is short")
    .max(1024)
    .default(8)
    .describe("Episodes per question. Larger groups learn steadier and cost more."),
  temperature: z
    .number()
    .min(0.01, "above 0: greedy members of a group are all alike and teach nothing")
    .max(10)
    .default(1)
    .describe("Sampling temperature in training. The trainer's logprobs are taken at the same one."),
  finalTemperature: z
    .number()
    .min(0.01, "above 0: greedy members of a group are all alike and teach nothing")
    .max(10)
    .optional()
    .describe(
      "Temperature of the last step: it moves there straight from `temperature` in the first. Absent, it stays.",
    ),
  topP: z
    .number()
    .gt(0)
    .max(1)
    .default(1)
    .describe("Nucleus sampling, 1 is off. Below 1 the recorded logprobs no longer are the policy's own."),
  topK: z
    .int()
    .min(0)
    .default(0)
    .describe("Sample among the k likeliest tokens, 0 is off. The same warning as topP."),
  maxRows: z
    .int()
    .min(1)
    .default(256)
    .describe("Most sequences the in-process policy computes at once; more go in several batches."),
  concurrency: z.int().min(1).default(64).describe("Episodes at a time against a remote policy."),
  retries: z
    .int()
    .min(0)
    .default(2)
    .describe("How often an episode is played again after an infrastructure failure, before it is left out."),
  retryDelayMs: z
    .int()
    .min(0)
    .default(250)
    .describe("Pause before the first such repeat in milliseconds; doubled with each."),
  episodeTimeoutMs: z
    .int()
    .min(0)
    .default(600_000)
    .describe(
      "Longest an episode may take in milliseconds, 0 is no limit. Waiting for the in-process policy does not count.",
    ),
  refillBatches: z
    .int()
    .min(0)
    .default(2)
    .describe(
      "Most extra batches rolled when groups without signal leave the step short (dynamic sampling).",
    ),
  prompt: promptConfig.prefault({}).describe("How a question becomes a prompt."),
});

export type RolloutConfig = z.infer<typeof rolloutConfig>;
