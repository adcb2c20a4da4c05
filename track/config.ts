import { z } from "zod";

export const trackConfig = z.strictObject({
  saveEvery: z
    .int()
    .min(1)
    .default(10)
    .describe("Steps between checkpoints. A killed run continues from the last one."),
  keepCheckpoints: z
    .int()
    .min(1)
    .default(2)
    .describe("Latest checkpoints kept; the best by evaluation is kept beside them."),
  keepTokens: z
    .boolean()
    .default(true)
    .describe("Keep every trajectory's tokens and logprobs in run.db, not only its text."),
});
export type TrackConfig = z.infer<typeof trackConfig>;
