import { ConfigError, DataError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import { type Normalizer, normalizerOf } from "../reward/normalize.ts";
import { checkComparable, differences } from "./comparable.ts";
import { compareMetric, metricNames, shownMetrics } from "./compare-metrics.ts";
import { type Cost, costOf } from "./cost.ts";
import type { Difference } from "./manifest.ts";
import { tally } from "./metrics.ts";
import { holm, type PairedDifference, pairedDifference, pairedMean } from "./paired.ts";
import { detectableMean, detectableRate, questionsFor } from "./power.ts";
import { type AskedQuestion, askedQuestions } from "./questions.ts";
import type { EvalRecord } from "./record.ts";
import { type Estimate, estimate, macroMean } from "./statistics.ts";
import type { StoredEvaluation } from "./stored.ts";
import type { Latency } from "./timing.ts";

export type Verdict = "higher" | "lower" | "noise";

/** One of the two, over the questions compared. */
export interface ComparedSide extends Estimate {
  readonly folder: string;
  readonly step: number;
  readonly samples: number;
  /** Episodes that infrastructure broke, and of how many. */
  readonly infra: number;
  readonly episodes: number;
  /** All its episodes by how they ended. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly latency?: Latency;
  /** At its own prices; absent without them. */
  readonly cost?: Cost;
}

/** A difference that is shown and not tested. */
export interface ShownDifference {
  readonly label: string;
  /** Questions. */
  readonly n: number;
  readonly a: number;
  readonly b: number;
  readonly difference: number;
  readonly low: number;
  readonly high: number;
}

/** Two evaluations of the same questions: everything is b − a. */
export interface ComparedEvaluations {
  readonly benchmark: string;
  readonly mode: string;
  readonly metric: string;
  readonly a: ComparedSide;
  readonly b: ComparedSide;
  /** Settings that differ: what the difference may come from. */
  readonly differ: readonly Difference[];
  readonly questions: {
    readonly compared: number;
    /** Asked in one alone; above 0 only when the intersection was asked for. */
    readonly onlyA: number;
    readonly onlyB: number;
    /** Shared, but without a value in at least one of them: broken by infrastructure, or fewer than k samples. */
    readonly withoutValue: number;
  };
  readonly difference: PairedDifference;
  /** Two-sided: McNemar's exact test for right and wrong, else the sign-flip permutation test. */
  readonly p: number;
  /** After Holm over all comparisons made together. */
  readonly adjustedP: number;
  /** How many those were. */
  readonly tests: number;
  /** Smallest true difference that these questions show in four of five repetitions at 5 %; null without spread. */
  readonly detectable: number | null;
  /** Questions that would show a difference of the size seen as often; null for no difference. */
  readonly needed: number | null;
  /** `noise`: the data do not tell the two apart. */
  readonly verdict: Verdict;
  /** Per data set and per number of hops, where there are several, and the mean over data sets. */
  readonly split: readonly ShownDifference[];
  /** Other metrics. */
  readonly shown: readonly ShownDifference[];
}

export interface CompareOptions {
  /** See `compareMetric`; default em. */
  readonly metric?: string;
  /** Compare the questions in common when each was asked others too. */
  readonly intersection?: boolean;
  /** Keys the draws of bootstrap and permutation; default 1. */
  readonly seed?: number;
}

type Untested = Omit<ComparedEvaluations, "adjustedP" | "tests" | "verdict">;

/**
 * Compares pairs of evaluations question by question, and adjusts their p values for being many (Holm).
 * @throws DataError for evaluations that are not comparable, ConfigError for a metric that they do not have
 */
export function compareEvaluations(
  pairs: readonly (readonly [a: StoredEvaluation, b: StoredEvaluation])[],
  options: CompareOptions = {},
): ComparedEvaluations[] {
  const compared = pairs.map(([a, b]) => comparePair(a, b, options));
  const adjusted = holm(compared.map(({ p }) => p));
  return compared.map((each, i) => {
    const adjustedP = adjusted[i] as number;
    const { difference } = each.difference;
    const verdict = adjustedP > 0.05 || difference === 0 ? "noise" : difference > 0 ? "higher" : "lower";
    return { ...each, adjustedP, tests: pairs.length, verdict };
  });
}

function comparePair(a: StoredEvaluation, b: StoredEvaluation, options: CompareOptions): Untested {
  const { metric = "em", intersection = false, seed = 1 } = options;
  const { shared, onlyA, onlyB } = checkComparable(a, b, { intersection, metric });
  const normalizer = normalizerOf(String(a.manifest.normalizer ?? b.manifest.normalizer ?? "squad"));
  const otherMoney = new Set([a, b].flatMap(({ records }) => currencies(records))).size > 1;
  if (metric === "cost" && otherMoney) throw severalCurrencies(a, b);
  const pairs = pairsOf(a, b, shared);
  const values = valuesOf(pairs, metric, normalizer);
  if (values.length === 0) throw noValue(metric, a, b, pairs);
  const difference = pairedDifference(values.map(valueA), values.map(valueB), {
    seed,
    unit: compareMetric(metric).unit,
  });
  const side = (stored: StoredEvaluation, of: readonly number[]): ComparedSide => ({
    ...estimate(of, { seed }),
    ...{ folder: stored.folder, step: stored.step, samples: stored.samples },
    infra: stored.records.filter(({ valid }) => !valid).length,
    episodes: stored.records.length,
    outcomes: tally(stored.records.map(({ outcome }) => outcome)),
    ...(stored.latency ? { latency: stored.latency } : {}),
    ...costed(stored),
  });
  const show = (label: string, some: readonly Value[], unit: boolean): ShownDifference[] =>
    some.length === 0 ? [] : [shownOf(label, some, { seed, unit })];
  return {
    ...{
      benchmark: a.benchmark === b.benchmark ? a.benchmark : `${a.benchmark}, ${b.benchmark}`,
      mode: a.mode,
      metric,
    },
    a: side(a, values.map(valueA)),
    b: side(b, values.map(valueB)),
    differ: differences(a, b),
    questions: {
      compared: values.length,
      ...{ onlyA: onlyA.length, onlyB: onlyB.length },
      withoutValue: shared.size - values.length,
    },
    difference,
    p: difference.pairs?.mcnemar ?? difference.signFlip,
    ...sizes(difference, values, compareMetric(metric).unit),
    split: splits(values, { seed, unit: compareMetric(metric).unit }),
    shown: [...shownMetrics, ...atNames(a, b)]
      .filter((name) => name !== metric && !(name === "cost" && otherMoney))
      .flatMap((name) => show(name, valuesOf(pairs, name, normalizer), compareMetric(name).unit)),
  };
}

const currencies = (records: readonly EvalRecord[]) => records.flatMap(({ cost }) => cost?.currency ?? []);

function costed({ records }: StoredEvaluation): Pick<ComparedSide, "cost"> {
  const cost = costOf(records);
  return cost ? { cost } : {};
}

const severalCurrencies = (a: StoredEvaluation, b: StoredEvaluation) =>
  new DataError({
    what: "costs in several currencies cannot be compared",
    where: `${a.folder} and ${b.folder}`,
    got: [...new Set([...currencies(a.records), ...currencies(b.records)])].join(" and "),
    next: "Evaluate one of them again with the other's eval.prices: nothing is played again.",
  });

type Pair = readonly [a: AskedQuestion, b: AskedQuestion];
interface Value {
  readonly question: AskedQuestion;
  readonly a: number;
  readonly b: number;
}
const valueA = ({ a }: Value) => a;
const valueB = ({ b }: Value) => b;

/** Shared questions with a valid episode on both sides, in the first's order. */
function pairsOf(a: StoredEvaluation, b: StoredEvaluation, shared: ReadonlySet<string>): Pair[] {
  const others = new Map(askedQuestions(b.records).map((question) => [question.id, question]));
  return askedQuestions(a.records).flatMap((question) => {
    const other = others.get(question.id);
    return other && shared.has(question.id) ? [[question, other] as const] : [];
  });
}

function valuesOf(pairs: readonly Pair[], metric: string, normalizer: Normalizer): Value[] {
  const { of } = compareMetric(metric);
  return pairs.flatMap(([question, other]) => {
    const [a, b] = [of(question, normalizer), of(other, normalizer)];
    return a === undefined || b === undefined ? [] : [{ question, a, b }];
  });
}

/** pass@k and the others at the number of samples, when both have as many. */
const atNames = (a: StoredEvaluation, b: StoredEvaluation) =>
  a.samples === b.samples && a.samples > 1
    ? [`pass@${a.samples}`, `pass^${a.samples}`, `maj@${a.samples}`]
    : [];

function shownOf(
  label: string,
  values: readonly Value[],
  o: { readonly seed: number; readonly unit: boolean },
): ShownDifference {
  const { n, a, b, difference, low, high } = pairedMean(values.map(valueA), values.map(valueB), o);
  return { label, n, a, b, difference, low, high };
}

function splits(
  values: readonly Value[],
  o: { readonly seed: number; readonly unit: boolean },
): ShownDifference[] {
  const by = (key: (question: AskedQuestion) => string) => {
    const labels = [...new Set(values.map(({ question }) => key(question)))].sort();
    return labels.map((label) => [label, values.filter(({ question }) => key(question) === label)] as const);
  };
  const datasets = by(({ dataset }) => dataset);
  const hops = by(({ hops }) => (hops === 1 ? "1 hop" : `${hops} hops`));
  const rows = [datasets, hops].flatMap((groups) =>
    groups.length > 1 ? groups.map(([label, some]) => shownOf(label, some, o)) : [],
  );
  if (datasets.length < 2) return rows;
  const over = (of: (value: Value) => number) => macroMean(datasets.map(([, some]) => some.map(of)));
  const { mean: difference, low, high } = over(({ a, b }) => b - a);
  const [a, b] = [over(valueA).mean, over(valueB).mean];
  return [
    { label: `mean of ${datasets.length} data sets`, n: values.length, a, b, difference, low, high },
    ...rows,
  ];
}

/** What these questions can show, from how much their differences vary. */
function sizes(
  { difference, pairs }: PairedDifference,
  values: readonly Value[],
  unit: boolean,
): Pick<ComparedEvaluations, "detectable" | "needed"> {
  const n = values.length;
  const squares = values.reduce((sum, { a, b }) => sum + (b - a) ** 2, 0);
  // In [0, 1] one more pair counts as different: that none differed does not mean that none could.
  const variance = unit ? (squares + 1) / (n + 2) : squares / n - difference ** 2;
  if (!(variance > 0)) return { detectable: null, needed: null };
  return {
    detectable: pairs ? detectableRate(n, variance) : detectableMean(n, Math.sqrt(variance)),
    needed: difference === 0 ? null : questionsFor(difference, variance),
  };
}

function noValue(
  metric: string,
  a: StoredEvaluation,
  b: StoredEvaluation,
  pairs: readonly Pair[],
): ConfigError | DataError {
  const where = `${a.folder} and ${b.folder}`;
  if (pairs.length === 0)
    return new DataError({
      what: "no question has a valid episode in both evaluations",
      where,
      next: "Evaluate again: failed episodes are played again.",
    });
  const k = /[@^](\d+)$/.exec(metric)?.[1];
  const samples = Math.min(a.samples, b.samples);
  if (k !== undefined)
    return new ConfigError({
      what: `there is no ${metric}`,
      where,
      got: `${samples} sample${samples === 1 ? "" : "s"} of each question`,
      expected: `at least ${k}`,
      next: "Evaluate with more samples (eval.samples), or name a smaller k.",
    });
  const [inA, inB] = [pairs.map(([first]) => first), pairs.map(([, second]) => second)];
  const namesB = new Set(metricNames(inB, samples));
  const names = metricNames(inA, samples).filter((name) => namesB.has(name));
  const close = nearest(metric, names);
  return new ConfigError({
    what: `the evaluations have no metric \`${metric}\` in common`,
    where: "--metric",
    expected: `one of ${names.join(", ")}`,
    ...(close === undefined ? {} : { next: `Did you mean \`${close}\`?` }),
  });
}
