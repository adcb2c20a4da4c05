import { z } from "zod";

export const alarmConfig = z.strictObject({
  mismatchK3: z
    .number()
    .positive()
    .default(0.01)
    .describe(
      "KL between sampler and trainer (mismatch/k3) from which a step alarms. Usual: 1e-3 in bfloat16.",
    ),
  mismatchP99: z
    .number()
    .positive()
    .default(0.5)
    .describe("99th percentile of their |Δ logprob| (mismatch/p99_abs) from which a step alarms."),
  canaryMeanAbs: z
    .number()
    .positive()
    .default(0.05)
    .describe("Mean |Δ logprob| on the fixed prompt, server against trainer, from which publishing alarms."),
});
export type AlarmConfig = z.infer<typeof alarmConfig>;

export const trackConfig = z.strictObject({
  saveEvery: z
    .int()
    .min(1)
    .default(10)
    .describe(
      "Steps between checkpoints; in the warm-up at least a twentieth of its steps. A killed run continues from the last one.",
    ),
  keepCheckpoints: z
    .int()
    .min(1)
    .default(2)
    .describe("Latest checkpoints kept; the best by evaluation is kept beside them."),
  keepTokens: z
    .boolean()
    .default(true)
    .describe("Keep every trajectory's tokens and logprobs in run.db, not only its text."),
  alarms: alarmConfig.prefault({}).describe("Thresholds of alarms that depend on the servers."),
});
export type TrackConfig = z.infer<typeof trackConfig>;
