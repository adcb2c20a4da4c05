import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { DataError } from "../../core/errors.ts";
import type { EvalResult } from "../evaluate.ts";
import { metricsOf } from "../metrics.ts";
import type { EvalRecord } from "../record.ts";
import { readRecords } from "../record-file.ts";
import { clusteredMean } from "../statistics.ts";
import { z95 } from "../wilson.ts";
import type { Point } from "./report.ts";

const rate = z.object({ n: z.number(), em: z.number(), low: z.number(), high: z.number() });
const rates = z.record(z.string(), rate).default({});
const numbers = z.record(z.string(), z.number()).default({});
const number = z.number().default(0);

const atK = z.object({ n: number, avg: number, pass: number, all: number, maj: number });

/** A result as it was written, also by an earlier version that said less. */
const storedResult = rate.extend({
  step: z.int(),
  mode: z.enum(["greedy", "sampled"]),
  benchmark: z.string(),
  samples: z.int().default(1),
  standardError: z.number().nullable().default(null),
  ...{ byHops: rates, byDataset: rates, emAt: rates, passAt: numbers, outcomes: numbers },
  ...{ f1: number, coverEm: number, turns: number, searches: number, invalidActions: number },
  ...{ policyTokens: number, noSearch: number, infra: number, infraShare: number },
  valid: z.boolean().default(true),
  failure: z.string().optional(),
  macroEm: rate.optional(),
  atK: z.record(z.string(), atK).optional(),
  judge: z.object({ n: z.number(), mean: z.number() }).optional(),
  recall: z.object({ n: z.number(), mean: z.number(), all: z.number() }).optional(),
  observationTokens: z.number().optional(),
  cost: z
    .object({
      ...{ currency: z.string(), total: z.number(), perQuestion: z.number() },
      ...{ judge: z.number().optional(), uncounted: z.number().optional() },
    })
    .optional(),
});

const manifestShape = z.looseObject({
  benchmark: z.string(),
  step: z.int(),
  mode: z.enum(["greedy", "sampled"]),
  samples: z.int().min(1),
  questions: z.int().min(1),
});

/** One evaluation on disk. */
export interface StoredEvaluation {
  readonly result: EvalResult;
  /** How far it came, when it is not finished. */
  readonly partial?: string;
  /** What its records tell beyond its result; empty where they are gone. */
  readonly searchesByHops: ReadonlyMap<number, Point>;
  /** Reads them again: episodes are not kept in memory. */
  records(): EvalRecord[];
}

/** @throws DataError for a result that is none */
export function parseResult(value: unknown, where: string): EvalResult {
  const parsed = storedResult.safeParse(value);
  if (parsed.success) return parsed.data as EvalResult; // safe: the shape is EvalResult's, with defaults for what is new
  const issue = parsed.error.issues[0];
  throw new DataError({
    what: `\`${issue?.path.join(".") || "result"}\` of an evaluation's result is wrong`,
    where,
    got: issue?.message ?? "",
    next: "Run the evaluation again: only what is missing is played again.",
  });
}

/** Is it the folder of one evaluation? */
export const isEvaluation = (folder: string): boolean =>
  ["result.json", "records.jsonl", "manifest.json"].some((name) => existsSync(join(folder, name)));

/**
 * The evaluations in a folder: it is one itself, or holds some. By benchmark and mode, then step.
 * @throws DataError for a damaged file
 */
export function storedEvaluations(folder: string): StoredEvaluation[] {
  const folders = isEvaluation(folder)
    ? [folder]
    : readdirSync(folder)
        .map((name) => join(folder, name))
        .filter((path) => statSync(path).isDirectory() && isEvaluation(path));
  return folders
    .flatMap((path) => readEvaluation(path) ?? [])
    .sort(({ result: a }, { result: b }) => compareKeys(a, b));
}

const compareKeys = (a: EvalResult, b: EvalResult) =>
  compare(a.benchmark, b.benchmark) || compare(a.mode, b.mode) || a.step - b.step;
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Nothing for one that was begun and has no record yet. */
function readEvaluation(folder: string): StoredEvaluation | undefined {
  const path = join(folder, "records.jsonl");
  const records = () => readRecords(path).records;
  const found = records();
  const resultPath = join(folder, "result.json");
  const searchesByHops = byHops(found);
  if (existsSync(resultPath))
    return { result: parseResult(readJson(resultPath), resultPath), searchesByHops, records };
  const first = found[0];
  if (!first) return undefined;
  const manifestPath = join(folder, "manifest.json");
  const manifest = existsSync(manifestPath)
    ? manifestShape.safeParse(readJson(manifestPath)).data
    : undefined;
  const questions = manifest?.questions ?? Math.max(...found.map(({ place }) => place)) + 1;
  const samples = manifest?.samples ?? Math.max(...found.map(({ sample }) => sample)) + 1;
  const { benchmark = first.dataset, step = 0, mode = samples > 1 ? "sampled" : "greedy" } = manifest ?? {};
  const metrics = metricsOf(found, { questions, samples, emAt: [50, 100], maxInfraShare: 0.05 });
  return {
    result: { step, mode, benchmark, ...metrics },
    ...(manifest && found.length >= questions * samples
      ? {}
      : {
          partial: `${benchmark}, ${mode}, step ${step}: ${found.length} of ${manifest ? questions * samples : "an unknown number of"} episodes`,
        }),
    searchesByHops,
    records,
  };
}

/** Mean searches by hops with the interval of its clustered standard error: samples of a question are one cluster. */
function byHops(records: readonly EvalRecord[]): Map<number, Point> {
  const hops = [...new Set(records.map((record) => record.hops))].sort((a, b) => a - b);
  return new Map(
    hops.flatMap((h) => {
      const some = records.filter((record) => record.valid && record.hops === h);
      if (some.length === 0) return [];
      const { mean, standardError, clusters } = clusteredMean(
        some.map(({ searches }) => searches),
        some.map(({ id }) => id),
      );
      const half = z95 * standardError;
      const interval = Number.isFinite(half) ? { low: mean - half, high: mean + half } : {};
      return [[h, { step: 0, value: mean, ...interval, n: clusters }] as const];
    }),
  );
}

export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as unknown;
  } catch (cause) {
    throw new DataError({
      what: "cannot read the file",
      where: path,
      got: cause instanceof Error ? cause.message : String(cause),
      next: "Restore it, or make it again.",
      cause,
    });
  }
}
