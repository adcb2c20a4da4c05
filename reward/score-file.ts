import { z } from "zod";
import { DataError } from "../core/errors.ts";
import type { EpisodeFormat } from "../datasets/episodes/formats.ts";
import { AllNormalizers, type NormalizedTotals } from "./all-normalizers.ts";
import { type AnswerScores, goldOf, scoreAnswer } from "./answers.ts";
import { answersOf, type ExtractionName, extractions } from "./extract.ts";
import type { Normalizer } from "./normalize.ts";
import { readScorable } from "./score-episodes.ts";

/** One record's scores. */
export interface RecordScore extends AnswerScores {
  readonly id: string;
  /** The judged answer; null when the record holds none. */
  readonly prediction: string | null;
}

export interface ScoreTotals {
  /** Records scored: the denominator of the means. */
  readonly n: number;
  readonly em: number;
  readonly f1: number;
  readonly coverEm: number;
  /** Scored records whose answer is absent or normalises to nothing. */
  readonly emptyPredictions: number;
  /** Records left out because no gold alias is left. */
  readonly emptyGold: number;
  /** Ids of the first of them, at most 20. */
  readonly emptyGoldIds: readonly string[];
  /** Gold aliases dropped because they normalise to nothing. */
  readonly droppedAliases: number;
  /** Trajectories left out because infrastructure failed or they were cancelled: never zeros. */
  readonly infra: number;
  /** Records whose id was seen before (several samples of a question are right, a file pasted twice is not). */
  readonly duplicateIds: number;
  /** Id and version, e.g. "squad@1". */
  readonly normalizer: string;
  /** The same records under every normaliser, by id and version. */
  readonly byNormalizer: Readonly<Record<string, NormalizedTotals>>;
}

export interface ScoreOptions {
  readonly normalizer: Normalizer;
  readonly extraction?: ExtractionName;
  /** What the file's records are; told from the first one when absent. */
  readonly format?: EpisodeFormat | undefined;
  /** Called for each scored record, in the file's order. */
  readonly onRecord?: (record: RecordScore) => void;
  readonly signal?: AbortSignal;
}

/**
 * Scores a JSONL(.gz) file of predictions `{id, prediction, goldenAnswers}` or of stored trajectories (`sequences` or
 * `segments` instead of a prediction; `goldenAnswers` at the top or in `task`), or of episodes of another make. Streams: only ids are kept.
 * @throws DataError with file:line for a malformed record, and for a file without records.
 */
export async function scoreFile(path: string, options: ScoreOptions): Promise<ScoreTotals> {
  const { normalizer, extraction = "last", format, onRecord, signal } = options;
  const sums = { n: 0, em: 0, f1: 0, coverEm: 0, emptyPredictions: 0 };
  const left = { emptyGold: 0, droppedAliases: 0, infra: 0, duplicateIds: 0 };
  const emptyGoldIds: string[] = [];
  const seen = new Set<string>();
  const all = new AllNormalizers();
  let records = 0;
  for await (const { value, line } of readScorable(path, recordSchema, format)) {
    signal?.throwIfAborted();
    records++;
    const { given, outcome, goldenAnswers, prediction, turns } = value;
    const id = given ?? `line ${line}`;
    if (seen.has(id)) left.duplicateIds++;
    seen.add(id);
    if (outcome === "cancelled" || outcome?.startsWith("infra(")) {
      left.infra++;
      continue;
    }
    const judged = turns === undefined ? prediction : extractions[extraction](answersOf(turns));
    all.add(judged ?? undefined, goldenAnswers);
    const gold = goldOf(goldenAnswers, normalizer);
    left.droppedAliases += gold.dropped;
    if (gold.answers.length === 0) {
      if (emptyGoldIds.length < 20) emptyGoldIds.push(id);
      left.emptyGold++;
      continue;
    }
    const scores = scoreAnswer(judged ?? undefined, gold, normalizer);
    sums.n++;
    sums.em += scores.em;
    sums.f1 += scores.f1;
    sums.coverEm += scores.coverEm;
    if (normalizer.normalize(judged ?? "") === "") sums.emptyPredictions++;
    onRecord?.({ id, ...scores, prediction: judged ?? null });
  }
  if (records === 0)
    throw new DataError({
      what: "no records",
      where: path,
      expected: "JSON Lines of {id, prediction, goldenAnswers} or of trajectories",
    });
  const mean = (sum: number) => (sums.n === 0 ? 0 : sum / sums.n);
  return {
    n: sums.n,
    em: mean(sums.em),
    f1: mean(sums.f1),
    coverEm: mean(sums.coverEm),
    emptyPredictions: sums.emptyPredictions,
    ...left,
    emptyGoldIds,
    normalizer: `${normalizer.id}@${normalizer.version}`,
    byNormalizer: all.totals(),
  };
}

const id = z.union([z.string(), z.int().transform(String)], { error: "text or a whole number" }).optional();
const golds = z.array(z.string({ error: "text" }), { error: "a list of gold answers" }).optional();
const segments = z.array(
  z.object({ source: z.enum(["prompt", "policy", "observation", "injected"]), text: z.string() }),
);

const recordSchema = z
  .object({
    id,
    taskId: id,
    task: z.object({ id, goldenAnswers: golds }).optional(),
    goldenAnswers: golds,
    prediction: z.string({ error: "text, or null for no answer" }).nullable().optional(),
    segments: segments.optional(),
    sequences: z.array(z.object({ segments })).optional(),
    outcome: z.string().optional(),
  })
  .transform((record, context) => {
    const goldenAnswers = record.goldenAnswers ?? record.task?.goldenAnswers;
    const sequences = record.sequences ?? (record.segments && [{ segments: record.segments }]);
    const missing = (path: string, message: string) => {
      context.addIssue({ code: "custom", path: [path], message });
      return z.NEVER;
    };
    if (goldenAnswers === undefined) return missing("goldenAnswers", "a list of gold answers");
    if (record.prediction === undefined && sequences === undefined)
      return missing("prediction", "text or null, or else the `sequences` of a trajectory");
    return {
      given: record.id ?? record.taskId ?? record.task?.id,
      outcome: record.outcome,
      goldenAnswers,
      prediction: record.prediction,
      turns: sequences && { sequences },
    };
  });
