import { z } from "zod";
import { filePath } from "../core/path-schema.ts";
import { familyKeys } from "./families/config.ts";
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

const easyHops = <T extends z.ZodType<number>>(hops: T) =>
  z.array(hops).min(1).describe("Hop counts of easy questions.");
const easyFirst = <T extends ReturnType<typeof easyHops>>(hops: T) =>
  z
    .strictObject({
      share: z.number().min(0).max(1).default(0.1).describe("Share of rl.steps with easy questions alone."),
      hops,
      mixIn: z
        .number()
        .min(0)
        .max(1)
        .default(0.1)
        .describe("Share of rl.steps over which the others are mixed in after that; 0 is all at once."),
    })
    .optional()
    .describe("Curriculum: the run begins with easy questions alone. Absent, it does not.");

const solveRate = z
  .strictObject({
    low: z.number().min(0).max(1).default(0.2).describe("Solve rate from which a question is in the band."),
    high: z.number().min(0).max(1).default(0.8).describe("Solve rate up to which it is."),
    outside: z
      .number()
      .min(0)
      .max(1)
      .default(0.1)
      .describe("Share of a step's questions from outside the band, so that they are measured again."),
  })
  .refine(({ low, high }) => low <= high, { path: ["low"], message: "at most high" })
  .optional()
  .describe(
    "Curriculum: mostly questions whose solve rate, as this run measured it, lies in a band; those not yet played count as in it.",
  );

const listCurriculum = { easyFirst: easyFirst(easyHops(z.int().min(1))), solveRate };
/** What says which questions of a list come next. */
export interface ListCurriculum {
  readonly easyFirst?: z.infer<typeof listCurriculum.easyFirst>;
  readonly solveRate?: z.infer<typeof solveRate>;
}

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

const separatedKeys = {
  kind: z
    .literal(["csv", "tsv"])
    .describe("Questions from comma- or tab-separated values under a header; may be gzipped."),
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
    easyFirst: easyFirst(easyHops(z.literal([1, 2, 3]))),
  }),
  z.strictObject({ ...jsonlKeys, ...listCurriculum }),
  z.strictObject({ ...parquetKeys, ...listCurriculum }),
  z.strictObject({ ...separatedKeys, ...listCurriculum }),
  z.strictObject({ ...ownKeys, ...listCurriculum }),
  z
    .strictObject({
      ...familyKeys,
      split: split.default("train").describe("Which tasks: no problem is in two splits."),
      n: z.int().min(1).optional().describe("Tasks to go over again and again; endless when absent."),
      ...listCurriculum,
    })
    .refine(({ n, solveRate }) => n !== undefined || solveRate === undefined, {
      path: ["solveRate"],
      message: "tasks without end are played once each, so they have no solve rate: give `n`",
    }),
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
  z.strictObject(separatedKeys),
  z.strictObject(ownKeys),
  z.strictObject({
    ...familyKeys,
    split: split.default("test").describe("Which tasks: no problem is in two splits."),
    n: z.int().min(1).default(384).describe("Tasks in the set."),
  }),
]);
export type BenchmarkConfig = z.infer<typeof benchmarkConfig>;

export const dataConfig = z.strictObject({
  train: sourceConfig.prefault({ kind: "world" }).describe("Questions that the policy is trained on."),
});
export type DataConfig = z.infer<typeof dataConfig>;
