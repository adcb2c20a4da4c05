import { join } from "node:path";
import { writeFileAtomic } from "../core/files.ts";
import type { EvalRecord } from "./record.ts";
import { writeRecords } from "./record-file.ts";

/** Toys for tests: one right episode of question `q<place>`. */
export const record = (place: number, over: Partial<EvalRecord> = {}): EvalRecord => ({
  id: `q${place}`,
  sample: 0,
  place,
  question: "?",
  goldenAnswers: ["g"],
  dataset: "toy",
  hops: 1,
  outcome: "answered",
  valid: true,
  prediction: "g",
  em: 1,
  f1: 1,
  coverEm: 1,
  reward: 1,
  turns: 2,
  searches: 1,
  invalidActions: 0,
  policyTokens: 10,
  segments: [],
  ...over,
});

/** A wrong one, near enough for an F1 of a half. */
export const wrong = (place: number, over: Partial<EvalRecord> = {}): EvalRecord =>
  record(place, { prediction: "w", em: 0, f1: 0.5, coverEm: 0, reward: 0.1, ...over });

/** One that infrastructure broke: no scores. */
export const broken = (place: number, over: Partial<EvalRecord> = {}): EvalRecord => {
  const {
    em: _,
    f1: __,
    coverEm: ___,
    reward: ____,
    ...rest
  } = record(place, {
    ...{ valid: false, prediction: null, outcome: "infra(retriever)", failure: "HTTP 500" },
    ...{ turns: 0, searches: 0 },
  });
  return { ...rest, ...over };
};

/** Writes a folder as `evaluate` leaves it: `<benchmark>-<step>-<mode>` below `parent`. Returns its path. */
export function writeEvaluation(
  parent: string,
  records: readonly EvalRecord[],
  o: { manifest?: Readonly<Record<string, string | number>>; valid?: boolean | "unfinished" } = {},
): string {
  const samples = Math.max(...records.map(({ sample }) => sample)) + 1;
  const manifest = {
    ...{ benchmark: "dev", step: 0, mode: samples > 1 ? "sampled" : "greedy", samples, seed: 1 },
    ...{ questions: new Set(records.map(({ id }) => id)).size, weights: "w0", retriever: "memory-1" },
    ...{ normalizer: "squad", normalizerVersion: 1, extraction: "last" },
    ...o.manifest,
  };
  const folder = join(parent, `${manifest.benchmark}-${manifest.step}-${manifest.mode}`);
  writeFileAtomic(join(folder, "manifest.json"), JSON.stringify(manifest));
  writeRecords(join(folder, "records.jsonl"), records);
  if (o.valid !== "unfinished")
    writeFileAtomic(join(folder, "result.json"), JSON.stringify({ valid: o.valid ?? true }));
  return folder;
}

/** One sample of `n` questions, those that `right` names right. */
export const answered = (n: number, right: (place: number) => boolean, over: Partial<EvalRecord> = {}) =>
  Array.from({ length: n }, (_, place) => (right(place) ? record : wrong)(place, over));
