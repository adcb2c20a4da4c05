import { passAt } from "./passk.ts";
import type { EvalRecord } from "./record.ts";
import { clusteredMean } from "./statistics.ts";
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
  /** pass@k over the samples of each question, for k = 1, 2, 4, … ≤ samples; with one sample empty. */
  readonly passAt: Readonly<Record<string, number>>;
  /** Means over valid episodes. */
  readonly turns: number;
  readonly searches: number;
  readonly invalidActions: number;
  readonly policyTokens: number;
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
}

/**
 * Everything an evaluation says, from its records alone. The unit is the question: samples of one are averaged first.
 * Episodes that infrastructure broke are never zeros; they are left out, counted, and above a share make it invalid.
 */
export function metricsOf(records: readonly EvalRecord[], options: MetricOptions): EvalMetrics {
  const valid = records.filter((record) => record.valid);
  const failed = records.filter((record) => !record.valid);
  const questions = byQuestion(valid);
  const em = (some: readonly Question[]) => rateOf(some.map(({ em }) => em));
  const over = (value: (record: EvalRecord) => number) => mean(valid.map(value));
  const { standardError } = clusteredMean(
    valid.map((record) => record.em ?? 0),
    valid.map(({ id }) => id),
  );
  const infraShare = records.length === 0 ? 0 : failed.length / records.length;
  const failure = commonest(
    failed.map(({ outcome, failure }) => (failure ? `${outcome}: ${failure}` : outcome)),
  );
  return {
    samples: options.samples,
    ...em(questions),
    standardError: Number.isFinite(standardError) ? standardError : null,
    f1: mean(questions.map(({ f1 }) => f1)),
    coverEm: mean(questions.map(({ coverEm }) => coverEm)),
    byHops: split(questions, ({ hops }) => hops, em),
    byDataset: split(questions, ({ dataset }) => dataset, em),
    emAt: Object.fromEntries(
      options.emAt
        .filter((k) => k <= options.questions)
        .map((k) => [k, em(questions.filter(({ place }) => place < k))]),
    ),
    passAt: passAtSamples(questions, options.samples),
    turns: over(({ turns }) => turns),
    searches: over(({ searches }) => searches),
    invalidActions: over(({ invalidActions }) => invalidActions),
    policyTokens: over(({ policyTokens }) => policyTokens),
    noSearch: over(({ searches }) => (searches === 0 ? 1 : 0)),
    outcomes: tally(records.map(({ outcome }) => outcome)),
    infra: failed.length,
    infraShare,
    valid: valid.length > 0 && failed.length <= options.maxInfraShare * options.questions * options.samples,
    ...(failure === undefined ? {} : { failure }),
  };
}

/** One question, its samples averaged. */
interface Question {
  readonly place: number;
  readonly hops: number;
  readonly dataset: string;
  readonly em: number;
  readonly f1: number;
  readonly coverEm: number;
  /** Valid samples, and those of them that are right. */
  readonly n: number;
  readonly right: number;
}

function byQuestion(records: readonly EvalRecord[]): Question[] {
  const groups = new Map<string, EvalRecord[]>();
  for (const record of records) {
    const group = groups.get(record.id);
    if (group) group.push(record);
    else groups.set(record.id, [record]);
  }
  return [...groups.values()].map((group) => {
    const { place, hops, dataset } = group[0] as EvalRecord;
    return {
      place,
      hops,
      dataset,
      em: mean(group.map(({ em }) => em ?? 0)),
      f1: mean(group.map(({ f1 }) => f1 ?? 0)),
      coverEm: mean(group.map(({ coverEm }) => coverEm ?? 0)),
      n: group.length,
      right: group.filter(({ em }) => em === 1).length,
    };
  });
}

function split<R>(
  questions: readonly Question[],
  key: (question: Question) => string | number,
  value: (some: readonly Question[]) => R,
): Record<string, R> {
  const keys = [...new Set(questions.map(key))].sort((a, b) => (a < b ? -1 : 1));
  return Object.fromEntries(keys.map((k) => [k, value(questions.filter((question) => key(question) === k))]));
}

/** Over the questions that have k valid samples. */
function passAtSamples(questions: readonly Question[], samples: number): Record<string, number> {
  const result: Record<string, number> = {};
  if (samples < 2) return result;
  for (let k = 1; k <= samples; k *= 2) {
    const values = questions
      .map(({ n, right }) => passAt(n, right, k))
      .filter((value) => value !== undefined);
    if (values.length > 0) result[k] = mean(values);
  }
  return result;
}

function tally(names: readonly string[]): Record<string, number> {
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
