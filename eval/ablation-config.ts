import { z } from "zod";
import { filePath } from "../core/path-schema.ts";

const name = /^[A-Za-z0-9][A-Za-z0-9._=-]*$/;
const changes = z.record(z.string().min(1), z.unknown());
const cell = z
  .object({ config: filePath().optional().describe("In place of the base's config, relative to this file.") })
  .catchall(z.unknown());

/** What `forager ablate` reads: a base config, what is changed in it, and the seeds of every cell. */
export const ablationConfig = z.strictObject({
  name: z
    .string()
    .regex(name, "letters, digits, dots, dashes and underscores: it names a folder")
    .default("ablation")
    .describe("Name of the ablation, in tables and in the folder's name."),
  config: filePath().describe("The base: a config, relative to this file, or forager:NAME."),
  base: z
    .string()
    .regex(name, "a name for a folder")
    .default("base")
    .describe("What the base is called in tables and folders."),
  set: changes.default({}).describe("Changes to the base itself, { key.path: value }, for every cell."),
  what: z
    .enum(["train", "evaluate"])
    .default("train")
    .describe("train: every cell is a run; evaluate: one policy is evaluated under every cell's config."),
  policy: filePath()
    .optional()
    .describe("With `what: evaluate`: a run, checkpoint, model or adapter; default: the cell's own model."),
  sampler: z
    .string()
    .min(1)
    .optional()
    .describe(
      "With `what: evaluate`, in place of `policy`: a sampler of your own, given to defineForager({ samplers }).",
    ),
  step: z
    .int()
    .min(0)
    .optional()
    .describe("With a run as `policy`: the checkpoint after this many updates; default: the last."),
  seeds: z
    .array(z.int().min(0))
    .min(1)
    .refine((list) => new Set(list).size === list.length, "each seed once")
    .optional()
    .describe(
      "Seeds of every cell: `run.seed` of a run, `eval.seed` of an evaluation. Default: 1, 2, 3; one.",
    ),
  grid: z
    .record(z.string().min(1), z.array(z.unknown()).min(1))
    .default({})
    .describe("{ key.path: [values] } over any keys of a config."),
  design: z
    .enum(["each", "all"])
    .default("each")
    .describe("each: a cell changes one key of the grid; all: every combination of its values is a cell."),
  cells: z
    .record(z.string().regex(name, "a name for a folder"), cell)
    .default({})
    .describe(
      "Further cells by name, each { key.path: value } over the base; with `config` over another config than the base's, and under `set` all the same.",
    ),
  metric: z
    .string()
    .min(1)
    .default("em")
    .describe("What is compared: a metric of `forager compare`, such as em, f1, searches or pass@8."),
  atOnce: z
    .int()
    .min(1)
    .max(64)
    .default(1)
    .describe("Cells that run at the same time; above 1 they must sample on servers (`endpoint`)."),
});
export type AblationConfig = z.infer<typeof ablationConfig>;
