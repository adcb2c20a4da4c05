import { type Normalizer, normalizers } from "../reward/normalize.ts";
import { type AtK, atK } from "./at-k.ts";
import { type Cost, costOf } from "./cost.ts";
import { type AskedQuestion, askedQuestions } from "./questions.ts";
import type { EvalRecord } from "./record.ts";
import { clusteredMean, macroMean } from "./statistics.ts";
import { type Rate, rateOf } from "./wilson.ts";

export interface EvalMetrics extends Rate {
  /** Samples per question. */
  readonly samples: number;
  /** Standard error of EM, samples of a question as one cluster; null with fewer than two questions. */
  readonly standardError: number | null;
  readonly f1: number;
  readonly coverEm: number;
  /** EM by number of hops, ascending; keys are the numbers as text. */
  readonly byHops: Readonly<Record<string, Rate>>;
  readonly byDataset: Readonly<Record<string, Rate>>;
  /** EM@k: over the first k questions of the recorded order. Absent where the benchmark has fewer than k. */
  readonly emAt: Readonly<Record<string, Rate>>;
  /** Mean of the data sets' EM, each counting the same. Absent with one data set, and in results of earlier versions. */
  readonly macroEm?: Rate;
  /** pass@k over the samples of each question, for k = 1, 2, 4, … ≤ samples; with one sample empty. */
  readonly passAt: Readonly<Record<string, number>>;
  /** avg@k, pass@k, pass^k and maj@k. Empty with one sample; absent in results of earlier versions. */
  readonly atK?: Readonly<Record<string, AtK>>;
  /** A judge's mean verdict, over the questions that have one. Absent without a judge. */
  readonly judge?: { readonly n: number; readonly mean: number };
  /** Share of a question's gold passages that some search showed, over the questions whose passages are known. */
  readonly recall?: { readonly n: number; readonly mean: number; readonly all: number };
  /** Means over valid episodes. */
  readonly turns: number;
  readonly searches: number;
  readonly invalidActions: number;
  readonly policyTokens: number;
  readonly observationTokens?: number;
  /** At `eval.prices`; absent without them. */
  readonly cost?: Cost;
  /** Share of valid episodes without a search. */
  readonly noSearch: number;
  /** Episodes by how they ended, failures included. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Episodes that infrastructure broke: in no mean above. */
  readonly infra: number;
  readonly infraShare: number;
  /** False when more than the allowed share failed: the numbers are then not a measurement. */
  readonly valid: boolean;
  /** The commonest failure, when there is one. */
  readonly failure?: string;
}

export interface MetricOptions {
  /** Questions in the benchmark. */
  readonly questions: number;
  /** Samples per question. */
  readonly samples: number;
  /** The k of EM@k. */
  readonly emAt: readonly number[];
  /** Largest share of failed episodes with which the evaluation still counts. */
  readonly maxInfraShare: number;
  /** What makes answers comparable when they vote; default SQuAD's. */
  readonly normalizer?: Normalizer;
}

/**
 * Everything an evaluation says, from its records alone. The unit is the question: samples of one are averaged first.
 * Episodes that infrastructure broke are never zeros; they are left out, counted, and above a share make it invalid.
 */
export function metricsOf(records: readonly EvalRecord[], options: MetricOptions): EvalMetrics {
  const valid = records.filter((record) => record.valid);
  const failed = records.filter((record) => !record.valid);
  const questions = askedQuestions(valid);
  const em = (some: readonly AskedQuestion[]) => rateOf(some.map(emOf));
  const over = (value: (record: EvalRecord) => number) => mean(valid.map(value));
  const { standardError } = clusteredMean(
    valid.map((record) => record.em ?? 0),
    valid.map(({ id }) => id),
  );
  const infraShare = records.length === 0 ? 0 : failed.length / records.length;
  const failure = commonest(
    failed.map(({ outcome, failure }) => (failure ? `${outcome}: ${failure}` : outcome)),
  );
  const cost = costOf(records);
  const byDataset = split(questions, ({ dataset }) => dataset, em);
  const at = atK(questions, options.samples, options.normalizer ?? normalizers.squad);
  return {
    samples: options.samples,
    ...em(questions),
    standardError: Number.isFinite(standardError) ? standardError : null,
    f1: meanOf(questions, ({ f1 }) => f1 ?? 0).mean,
    coverEm: meanOf(questions, ({ coverEm }) => coverEm ?? 0).mean,
    byHops: split(questions, ({ hops }) => hops, em),
    byDataset,
    ...(Object.keys(byDataset).length > 1 ? { macroEm: macroOf(questions) } : {}),
    emAt: Object.fromEntries(
      options.emAt
        .filter((k) => k <= options.questions)
        .map((k) => [k, em(questions.filter(({ place }) => place < k))]),
    ),
    passAt: Object.fromEntries(
      Object.entries(at).flatMap(([k, { pass }]) =>
        Number.isInteger(Math.log2(Number(k))) ? [[k, pass]] : [],
      ),
    ),
    atK: at,
    ...judgeAndRecall(questions),
    turns: over(({ turns }) => turns),
    searches: over(({ searches }) => searches),
    invalidActions: over(({ invalidActions }) => invalidActions),
    policyTokens: over(({ policyTokens }) => policyTokens),
    ...(valid.every(({ observationTokens }) => observationTokens !== undefined)
      ? { observationTokens: over(({ observationTokens }) => observationTokens ?? 0) }
      : {}),
    ...(cost ? { cost } : {}),
    noSearch: over(({ searches }) => (searches === 0 ? 1 : 0)),
    outcomes: tally(records.map(({ outcome }) => outcome)),
    infra: failed.length,
    infraShare,
    valid: valid.length > 0 && failed.length <= options.maxInfraShare * options.questions * options.samples,
    ...(failure === undefined ? {} : { failure }),
  };
}

const emOf = ({ samples }: AskedQuestion) => mean(samples.map(({ em }) => em ?? 0));

/** Mean over questions of the mean over those samples that have a value; questions without one are left out. */
function meanOf(
  questions: readonly AskedQuestion[],
  value: (record: EvalRecord) => number | undefined,
): { readonly n: number; readonly mean: number } {
  const means = questions.flatMap(({ samples }) => {
    const values = samples.map(value).filter((each) => each !== undefined);
    return values.length === 0 ? [] : [mean(values)];
  });
  return { n: means.length, mean: mean(means) };
}

function judgeAndRecall(questions: readonly AskedQuestion[]): Pick<EvalMetrics, "judge" | "recall"> {
  const judge = meanOf(questions, ({ parts }) => parts?.judge);
  const recall = meanOf(questions, recallOf);
  const all = meanOf(questions, (record) => {
    const share = recallOf(record);
    return share === undefined ? undefined : Number(share === 1);
  });
  return {
    ...(judge.n > 0 ? { judge } : {}),
    ...(recall.n > 0 ? { recall: { ...recall, all: all.mean } } : {}),
  };
}

/** Share of its question's gold passages that an episode saw. */
export const recallOf = ({ goldPassages, goldFound }: EvalRecord): number | undefined =>
  goldPassages === undefined ? undefined : (goldFound ?? 0) / goldPassages;

function macroOf(questions: readonly AskedQuestion[]): Rate {
  const strata = Object.values(
    split(
      questions,
      ({ dataset }) => dataset,
      (some) => some.map(emOf),
    ),
  );
  const { mean: em, low, high } = macroMean(strata);
  return { n: questions.length, em, low: Math.max(0, low), high: Math.min(1, high) };
}

function split<R>(
  questions: readonly AskedQuestion[],
  key: (question: AskedQuestion) => string | number,
  value: (some: readonly AskedQuestion[]) => R,
): Record<string, R> {
  const keys = [...new Set(questions.map(key))].sort((a, b) => (a < b ? -1 : 1));
  return Object.fromEntries(keys.map((k) => [k, value(questions.filter((question) => key(question) === k))]));
}

/** How often each name occurs, in the order of names. */
export function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of [...names].sort()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function commonest(names: readonly string[]): string | undefined {
  const [first] = Object.entries(tally(names)).sort(([, a], [, b]) => b - a);
  return first?.[0];
}

/** 0 for an empty list; `n` says that it is empty. */
const mean = (values: readonly number[]) =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
