import { z } from "zod";
import { filePath } from "../core/path-schema.ts";
import { formatNames } from "./formats.ts";

const share = z.number().min(0);

export const hopMixConfig = z
  .strictObject({
    1: share.describe("Weight of one-hop questions."),
    2: share.describe("Weight of two-hop questions."),
    3: share.describe("Weight of three-hop questions."),
  })
  .refine((mix) => mix[1] + mix[2] + mix[3] > 0, "at least one weight above 0");

const hopMix = hopMixConfig
  .default({ 1: 1, 2: 1, 3: 1 })
  .describe("Weights of one-, two- and three-hop questions; need not sum to 1.");

const worldKeys = {
  kind: z.literal("world").describe("The synthetic world: made-up entities, one page each."),
  seed: z.int().default(1).describe("Seed of the world itself; another seed is another world."),
  clusters: z
    .int()
    .min(3)
    .default(400)
    .describe("Clusters of 82 entities and 82 pages; 1,376 at most. A twentieth each for dev and test."),
};

const fileKeys = {
  path: filePath().describe("File of questions."),
  format: z
    .enum(["auto", ...formatNames])
    .default("auto")
    .describe(
      "How its records are read. auto: as the first record tells; the names are listed in docs/own-data.md.",
    ),
  limit: z.int().min(1).optional().describe("Read only the first questions of the file; all when absent."),
  hops: z
    .array(z.int().min(1))
    .min(1)
    .optional()
    .describe("Keep only questions of these hop counts; every question when absent."),
  split: z
    .string()
    .min(1)
    .optional()
    .describe("Keep only questions whose record names this split; every question when absent."),
  dataset: z
    .string()
    .min(1)
    .optional()
    .describe("Name for questions without one; default: the format's, or the file's name."),
};

const jsonlKeys = {
  kind: z
    .literal("jsonl")
    .describe("Questions from JSON Lines, or from one JSON array; either may be gzipped."),
  ...fileKeys,
};

const parquetKeys = {
  kind: z.literal("parquet").describe("Questions from a Parquet file."),
  ...fileKeys,
};

const ownKeys = {
  kind: z.literal("own").describe("Questions of your own code, given to defineForager({ datasets })."),
  name: z.string().min(1).describe("Its name there."),
};

const split = z.enum(["train", "dev", "test"]);

/** An endless source of training questions. */
export const sourceConfig = z.discriminatedUnion("kind", [
  z.strictObject({
    ...worldKeys,
    split: split.default("train").describe("Which entities the questions are about."),
    hopMix,
    ramp: z
      .strictObject({
        to: hopMixConfig.describe("Mix at the end of the ramp."),
        steps: z.int().min(1).describe("Steps from `hopMix` to `to`."),
      })
      .optional()
      .describe("Curriculum: moves straight from `hopMix` to another mix; absent, the mix stays."),
  }),
  z.strictObject(jsonlKeys),
  z.strictObject(parquetKeys),
  z.strictObject(ownKeys),
]);
export type SourceConfig = z.infer<typeof sourceConfig>;

/** A fixed set of questions to be evaluated on. */
export const benchmarkConfig = z.discriminatedUnion("kind", [
  z.strictObject({
    ...worldKeys,
    split: split.default("test").describe("Which entities the questions are about."),
    hopMix,
    n: z.int().min(1).default(384).describe("Questions in the set."),
  }),
  z.strictObject(jsonlKeys),
  z.strictObject(parquetKeys),
  z.strictObject(ownKeys),
]);
export type BenchmarkConfig = z.infer<typeof benchmarkConfig>;

export const dataConfig = z.strictObject({
  train: sourceConfig.prefault({ kind: "world" }).describe("Questions that the policy is trained on."),
});
export type DataConfig = z.infer<typeof dataConfig>;
