import { z } from "zod";
import { fileMark } from "../core/path-schema.ts";
import { benchmarkConfig } from "../datasets/config.ts";

/** What a benchmark may say of how its samples are drawn; absent keys are those of `eval`. */
const card = {
  seed: z.int().optional().describe("Orders its questions and keys its draws; default: eval.seed."),
  samples: z.int().min(1).max(1024).optional().describe("Episodes per question of `sampled`."),
  temperature: z.number().gt(0).max(10).optional().describe("Sampling temperature of `sampled`."),
  topP: z.number().gt(0).max(1).optional().describe("Nucleus sampling of `sampled`, 1 is off."),
  topK: z.int().min(0).optional().describe("Sample among the k likeliest tokens, 0 is off."),
};

/** What a benchmark's published numbers were made with; an evaluation with anything else is refused. */
const pins = z
  .strictObject({
    scorer: z
      .string()
      .regex(/^[a-z0-9-]+@\d+$/, "a normaliser and its version, such as squad@1")
      .optional()
      .describe("Normaliser and its version, such as squad@1."),
    index: z
      .string()
      .min(1)
      .optional()
      .describe("Version of the index, as an evaluation's manifest names it."),
    questions: z.int().min(1).optional().describe("Questions in the whole set, before `limit`."),
    order: z
      .int()
      .min(0)
      .optional()
      .describe("Checksum of the whole order, before `limit`: `forager data check` names it."),
  })
  .optional()
  .describe("What it must be evaluated with for numbers to compare; anything else is an error.");

const benchmark = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
        "letters, digits, dots, dashes and underscores: it names a folder",
      )
      .describe("Name of the benchmark in tables, metrics and folders."),
    source: benchmarkConfig.describe("Where its questions come from."),
    limit: z
      .int()
      .min(1)
      .optional()
      .describe("Ask only the first questions of the recorded order; all when absent."),
    ...card,
    pins,
  })
  .meta({ [fileMark]: true });
export type BenchmarkRow = z.infer<typeof benchmark>;

const perMillion = {
  promptPerMillionTokens: z
    .number()
    .min(0)
    .describe("Price of a million tokens read; each turn of an episode reads all that came before it again."),
  completionPerMillionTokens: z.number().min(0).describe("Price of a million tokens written."),
};

const prices = z.strictObject({
  currency: z
    .string()
    .regex(/^[A-Za-z]{1,12}$/, "letters, such as USD")
    .describe("What the prices are in, such as USD or EUR."),
  ...perMillion,
  judge: z
    .strictObject(perMillion)
    .optional()
    .describe("The same of the judge's model; counted where its server says how many tokens it took."),
});

/** Section `eval`: what is measured, when, and how. */
export const evalConfig = z.strictObject({
  benchmarks: z
    .array(benchmark)
    .default([])
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, "names that differ")
    .describe(
      "Benchmarks, each a fixed set of questions in a seeded, stratified, recorded order. A text names a YAML file that holds one.",
    ),
  modes: z
    .array(z.enum(["greedy", "sampled"]))
    .min(1)
    .refine((list) => new Set(list).size === list.length, "each mode once")
    .default(["greedy", "sampled"])
    .describe("greedy: temperature 0, one episode a question; sampled: as below."),
  samples: z.int().min(1).max(1024).default(1).describe("Episodes per question of `sampled`."),
  temperature: z.number().gt(0).max(10).default(1).describe("Sampling temperature of `sampled`."),
  topP: z.number().gt(0).max(1).default(1).describe("Nucleus sampling of `sampled`, 1 is off."),
  topK: z.int().min(0).default(0).describe("Sample among the k likeliest tokens, 0 is off."),
  every: z
    .int()
    .min(0)
    .default(10)
    .describe(
      "Training steps between evaluations; 0 evaluates at step 0, at `evalSteps` and at the end alone.",
    ),
  evalSteps: z
    .array(z.int().min(0))
    .default([50, 100])
    .describe("Further steps to evaluate at, so that EM at step 50 and 100 can be named."),
  emAt: z
    .array(z.int().min(1))
    .default([50, 100])
    .describe("The k of EM@k: exact match over the first k questions of the recorded order."),
  seed: z
    .int()
    .default(1)
    .describe(
      "Orders the benchmarks and keys the draws of `sampled`. Not the run's seed, so that runs compare.",
    ),
  maxInfraShare: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe(
      "Largest share of episodes that infrastructure may break; above it the evaluation does not count.",
    ),
  prices: prices
    .optional()
    .describe(
      "What tokens cost: then evaluations say what they cost, a question and in all. Default: no cost.",
    ),
});
export type EvalConfig = z.infer<typeof evalConfig>;

/** Is the policy evaluated after `step` updates of `last`? Always at 0 and at the end. */
export function isEvalStep(
  { every, evalSteps }: Pick<EvalConfig, "every" | "evalSteps">,
  step: number,
  last: number,
): boolean {
  return step === 0 || step === last || evalSteps.includes(step) || (every > 0 && step % every === 0);
}
