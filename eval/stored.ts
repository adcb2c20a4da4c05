import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { DataError } from "../core/errors.ts";
import type { Manifest } from "./manifest.ts";
import type { EvalRecord } from "./record.ts";
import { readRecords } from "./record-file.ts";
import { type Latency, readLatency } from "./timing.ts";

/** What an evaluation is of, as manifest.json says; read before any record. */
export interface EvaluationRef {
  readonly folder: string;
  readonly benchmark: string;
  readonly mode: "greedy" | "sampled";
  readonly step: number;
  /** Samples per question. */
  readonly samples: number;
  /** Questions that were to be asked. */
  readonly questions: number;
  /** Everything that the numbers depend on. */
  readonly manifest: Manifest;
}

/** An evaluation read from its folder. */
export interface StoredEvaluation extends EvaluationRef {
  readonly records: readonly EvalRecord[];
  /** False when infrastructure broke too many episodes; undefined while it is unfinished. */
  readonly valid?: boolean;
  readonly latency?: Latency;
}

const manifestShape = z
  .object({
    benchmark: z.string(),
    mode: z.enum(["greedy", "sampled"]),
    step: z.int().min(0),
    samples: z.int().min(1),
    questions: z.int().min(1),
  })
  .catchall(z.union([z.string(), z.number(), z.boolean()]));

const isEvaluation = (folder: string) => existsSync(join(folder, "manifest.json"));

/**
 * The evaluations that a path names: its own, or those in a run folder or in a folder that `forager eval` wrote, in the
 * order of benchmark, mode, step. @throws DataError when there is none, or one is damaged
 */
export function findEvaluations(path: string): EvaluationRef[] {
  if (isEvaluation(path)) return [readRef(path)];
  const inside = [join(path, "evals"), path].find((folder) => existsSync(folder));
  const folders = inside === undefined || !statSync(inside).isDirectory() ? [] : readdirSync(inside);
  const found = folders.map((name) => join(inside as string, name)).filter(isEvaluation);
  if (found.length > 0) return found.map(readRef).sort(inOrder);
  throw new DataError({
    what: existsSync(path) ? "there is no evaluation in this folder" : "no such folder",
    where: path,
    expected: "a run folder, a folder that `forager eval` wrote, or one evaluation with manifest.json",
    next: "`forager eval` makes one; `forager train` does as it goes.",
  });
}

const inOrder = (a: EvaluationRef, b: EvaluationRef) =>
  compare(a.benchmark, b.benchmark) || compare(a.mode, b.mode) || a.step - b.step;
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function readRef(folder: string): EvaluationRef {
  const where = join(folder, "manifest.json");
  const parsed = manifestShape.safeParse(readJson(where));
  if (!parsed.success) throw damaged(where, parsed.error.issues[0]?.message ?? "");
  const { benchmark, mode, step, samples, questions } = parsed.data;
  return { folder, benchmark, mode, step, samples, questions, manifest: parsed.data };
}

const resultShape = z.looseObject({ valid: z.boolean() });

/** Reads the records. @throws DataError naming file:line */
export function readEvaluation(ref: EvaluationRef): StoredEvaluation {
  const { records } = readRecords(join(ref.folder, "records.jsonl"));
  if (records.length === 0)
    throw new DataError({
      what: "the evaluation has no record yet",
      where: ref.folder,
      next: "Run the same command again: it goes on from what is recorded.",
    });
  const path = join(ref.folder, "result.json");
  const result = existsSync(path) ? resultShape.safeParse(readJson(path)) : undefined;
  if (result && !result.success) throw damaged(path, "no `valid`");
  const latency = readLatency(ref.folder);
  return {
    ...ref,
    records,
    ...(result ? { valid: result.data.valid } : {}),
    ...(latency ? { latency } : {}),
  };
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as unknown;
  } catch (cause) {
    throw damaged(path, cause instanceof Error ? cause.message : String(cause));
  }
}

const damaged = (where: string, got: string) =>
  new DataError({
    what: `${basename(where)} of an evaluation is damaged`,
    where,
    got,
    next: "Delete the folder and evaluate again.",
  });
