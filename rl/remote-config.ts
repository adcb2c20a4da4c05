import { z } from "zod";

const positive = z.number().positive();

/** Section `rl.importance`: what is done about the gap between the sampler's probabilities and the trainer's. */
export const importanceConfig = z.strictObject({
  mode: z
    .enum(["none", "token", "mask", "sequence", "sequenceMask"])
    .optional()
    .describe(
      "Weight π_old/π_sampler on each token's loss: token truncates it at `cap`, mask drops what is outside [low, high], sequence and sequenceMask do so with a row's product. Default: token with an endpoint, none in process.",
    ),
  cap: positive.default(2).describe("Largest weight (token, sequence)."),
  low: positive.max(1).default(0.5).describe("Ratios below weigh nothing (mask, sequenceMask)."),
  high: z.number().min(1).default(2).describe("Ratios above weigh nothing (mask, sequenceMask)."),
});
export type ImportanceConfig = z.infer<typeof importanceConfig>;

/** Keys of `rl` that say how rollouts and updates overlap. */
export const paceConfig = {
  maxStaleness: z
    .int()
    .min(0)
    .max(64)
    .default(0)
    .describe(
      "Rollouts run ahead of the update by at most this many versions; a group that is older is dropped. 0 is on policy and reproducible. Above 0 needs an endpoint.",
    ),
  stepTimeoutMs: z
    .int()
    .min(0)
    .default(0)
    .describe(
      "After this time a step's slow requests are sent elsewhere, after as long again its open episodes are cut and counted; in milliseconds, 0 is no limit.",
    ),
} as const;
