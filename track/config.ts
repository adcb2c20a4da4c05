import { z } from "zod";

const share = z.number().min(0).max(1);

export const alarmConfig = z.strictObject({
  zeroSpread: share
    .default(0.9)
    .describe("Share of groups without spread (zero_std_frac) from which a step alarms."),
  noSearch: z
    .number()
    .min(0)
    .default(0.5)
    .describe(
      "Share of episodes without a search (no_search_frac) from which a step alarms. Above 1, as for tasks that need none, no step does.",
    ),
  searchBudget: z
    .number()
    .positive()
    .max(1)
    .default(0.9)
    .describe("Mean searches of an episode, as a share of those it may make, from which a step alarms."),
  observationShare: share
    .default(0.9)
    .describe("Share of all tokens that tools wrote (observation_share) from which a step alarms."),
  gradNorm: z
    .number()
    .positive()
    .default(10)
    .describe("Gradient norm before clipping (grad_norm) from which a step alarms."),
  entropy: z
    .number()
    .min(0)
    .default(0.005)
    .describe(
      "Entropy in nats a token below which a step alarms, where fewer than 0.7 of the answers are right.",
    ),
  invalid: share
    .default(0.5)
    .describe("Share of episodes with an invalid action (invalid_frac) from which a step alarms."),
  correctLogprobFall: z
    .number()
    .positive()
    .default(0.2)
    .describe(
      "Fall of the mean log-probability of right episodes (correct_logprob), in nats, from its best earlier level, from which a step alarms.",
    ),
  correctLogprobWindow: z.int().min(1).default(5).describe("Steps whose mean is a level of correct_logprob."),
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
