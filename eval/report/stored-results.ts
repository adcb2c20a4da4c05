import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { z } from "zod";
import { DataError } from "../../core/errors.ts";
import type { AblationReport } from "../ablation-table.ts";
import type { MeasuredSearch, Report } from "./report.ts";
import { reportOfAblation, reportOfSearchValue } from "./result-report.ts";
import { readJson } from "./stored-evaluations.ts";

const number = z.number();
const optionalText = z.string().optional();
const interval = { low: number, high: number };

const against = z.looseObject({
  ...{ difference: number, ...interval, p: number, adjustedP: number, questions: number },
  seeds: z.array(number),
  bySeed: z.array(number),
  over: z.enum(["seeds", "questions"]),
  verdict: z.enum(["higher", "lower", "noise", "one seed"]),
  scorer: z.array(z.string()),
});
const ablationShape = z.looseObject({
  name: z.string(),
  metric: z.string(),
  notes: z.array(z.string()),
  cells: z.array(
    z.looseObject({
      name: z.string(),
      changes: z.array(z.looseObject({ key: z.string(), base: optionalText, cell: optionalText })),
      sampledTokens: number.optional(),
    }),
  ),
  rows: z.array(
    z.looseObject({
      ...{ cell: z.string(), benchmark: z.string(), mode: z.enum(["greedy", "sampled"]) },
      ...{ seeds: z.array(number), questions: number, mean: number, means: z.array(number) },
      against: against.optional(),
    }),
  ),
  failed: z.array(z.looseObject({ cell: z.string(), seed: number, error: z.string() })),
  curves: z.array(
    z.looseObject({
      metric: z.string(),
      points: z.array(z.looseObject({ cell: z.string(), seed: number, step: number, value: number })),
    }),
  ),
  unfinished: z.object({ n: number, of: number }).optional(),
});
const planShape = z.looseObject({
  what: optionalText,
  policy: optionalText,
  sampler: optionalText,
  step: number.optional(),
  seeds: z.array(number).optional(),
});

const estimate = z.looseObject({ n: number, mean: number, ...interval });
const searchShape = z.looseObject({
  policy: optionalText,
  values: z.array(
    z.looseObject({
      ...{ title: z.string(), benchmark: z.string(), mode: z.string() },
      value: z.looseObject({
        rows: z.array(
          z.looseObject({
            ...{ name: z.string(), budget: number.optional(), em: estimate },
            difference: z
              .looseObject({ difference: number, ...interval, interval: z.string(), adjustedP: number })
              .optional(),
            ...{ searches: number, turns: number, noSearch: number, stopped: number },
            recall: number.nullable(),
          }),
        ),
        bySearches: z.array(estimate.extend({ searches: number })),
        overSearch: estimate.nullable(),
        underSearch: estimate,
        withoutEvidence: estimate.nullable(),
      }),
    }),
  ),
});

/**
 * The report of a folder that `forager ablate` or `forager search-value` wrote; undefined for any other.
 * @throws DataError for a damaged file
 */
export function storedResult(folder: string): Report | undefined {
  const [ablation, search] = [join(folder, "ablation.json"), join(folder, "search-value.json")];
  // safe: the shapes are what the report uses of these types
  if (existsSync(ablation))
    return reportOfAblation(read(ablation, ablationShape) as AblationReport, planFacts(folder));
  if (!existsSync(search)) return undefined;
  const { policy, values } = read(search, searchShape);
  const facts = policy === undefined ? [] : [{ name: "policy", value: policy }];
  return reportOfSearchValue(basename(resolve(folder)), values as unknown as MeasuredSearch[], facts);
}

/** What the plan of an ablation says beside its cells. */
export function planFacts(folder: string): Report["facts"] {
  const path = join(folder, "plan.json");
  if (!existsSync(path)) return [];
  const { what, policy, sampler, step, seeds } = read(path, planShape);
  const facts = { cells: what === "train" ? "training runs" : what === "evaluate" ? "evaluations" : what };
  return Object.entries({
    ...facts,
    policy,
    sampler,
    "checkpoint of step": step,
    seeds: seeds?.join(", "),
  }).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value: String(value) }]));
}

function read<T>(path: string, shape: z.ZodType<T>): T {
  const parsed = shape.safeParse(readJson(path));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new DataError({
    what: "the file is damaged, or of another version",
    where: path,
    got: `${issue?.path.join(".") || "(file)"}: ${issue?.message}`,
    next: "Run the command that wrote it again: what is done is not run again.",
  });
}
