import { InvariantError } from "../core/errors.ts";
import { normalizerOf } from "../reward/normalize.ts";
import { compareMetric } from "./compare-metrics.ts";
import { holm, type PairedDifference, pairedDifference } from "./paired.ts";
import { type AskedQuestion, askedQuestions } from "./questions.ts";
import type { EvalRecord } from "./record.ts";
import { type Estimate, estimate } from "./statistics.ts";

/** The same policy on the same questions, with something else that answers its searches. */
export interface SearchCondition {
  readonly name: string;
  /** Most searches that are answered, where the engine answers them; absent where searches are not counted out. */
  readonly budget?: number;
  readonly records: readonly EvalRecord[];
}

/** One condition: what it gives, and its difference from the engine without a budget. */
export interface SearchValueRow {
  readonly name: string;
  readonly budget?: number;
  readonly em: Estimate;
  /** This condition minus the reference, over the questions of both; absent for the reference. */
  readonly difference?: PairedDifference & { readonly p: number; readonly adjustedP: number };
  /** Means over questions. */
  readonly searches: number;
  readonly turns: number;
  readonly noSearch: number;
  /** Share of a question's gold passages that were shown; null where they are unknown. */
  readonly recall: number | null;
  /** Share that ended without an answer because its turns were over. */
  readonly stopped: number;
}

export interface SearchValue {
  readonly rows: readonly SearchValueRow[];
  /** With the reference: exact match by the number of searches that the policy made. */
  readonly bySearches: readonly ({ readonly searches: number } & Estimate)[];
  /** Share of questions on which it searched more often than it needed to be right: fewer answers sufficed. */
  readonly overSearch: Estimate | null;
  /** Share that it answered wrongly, of its own accord, with evidence not seen and searches left. */
  readonly underSearch: Estimate;
  /** Share right although every search found nothing; null without that condition. */
  readonly withoutEvidence: Estimate | null;
}

const seed = 1;

/**
 * The value of search from the records of its conditions.
 * @param reference the engine without a budget
 * @param most searches that an episode has room for
 */
export function searchValue(
  reference: SearchCondition,
  others: readonly SearchCondition[],
  { most, normalizer }: { readonly most: number; readonly normalizer: string },
): SearchValue {
  const asked = askedQuestions(reference.records);
  const budgets = others.filter((each) => each.budget !== undefined);
  const nothing = budgets.find(({ budget }) => budget === 0);
  const compared = others.map((other) => compareTo(asked, other, normalizer));
  const adjusted = holm(compared.map(({ p }) => p));
  return {
    rows: [
      ...others.map((other, i) => ({
        ...rowOf(other, normalizer),
        difference: {
          ...(compared[i] as (typeof compared)[number]),
          adjustedP: adjusted[i] as number,
        },
      })),
      rowOf(reference, normalizer),
    ],
    bySearches: bySearches(asked),
    overSearch: budgets.length === 0 ? null : overSearch(asked, budgets),
    underSearch: share(asked, (record) => underSearched(record, most)),
    withoutEvidence: nothing ? share(askedQuestions(nothing.records), ({ em }) => em === 1) : null,
  };
}

function compareTo(asked: readonly AskedQuestion[], other: SearchCondition, normalizer: string) {
  const { of } = compareMetric("em");
  const rows = normalizerOf(normalizer);
  const twins = new Map(askedQuestions(other.records).map((question) => [question.id, question]));
  const pairs = asked.flatMap((question) => {
    const twin = twins.get(question.id);
    const [a, b] = [of(question, rows), twin && of(twin, rows)];
    return a === undefined || b === undefined ? [] : [[a, b] as const];
  });
  if (pairs.length === 0) throw new InvariantError({ what: "two conditions without a question in common" });
  const difference = pairedDifference(
    pairs.map(([a]) => a),
    pairs.map(([, b]) => b),
    { seed, unit: true },
  );
  return { ...difference, p: difference.pairs?.mcnemar ?? difference.signFlip };
}

function rowOf(
  { name, budget, records }: SearchCondition,
  normalizer: string,
): Omit<SearchValueRow, "difference"> {
  const asked = askedQuestions(records);
  const rows = normalizerOf(normalizer);
  const over = (metric: string) => {
    const { of } = compareMetric(metric);
    return asked.map((question) => of(question, rows)).filter((value) => value !== undefined);
  };
  const mean = (metric: string) => average(over(metric)) ?? 0;
  return {
    name,
    ...(budget === undefined ? {} : { budget }),
    em: estimate(over("em"), { seed }),
    ...{ searches: mean("searches"), turns: mean("turns"), noSearch: mean("noSearch") },
    recall: average(over("recall")) ?? null,
    stopped: share(asked, ({ outcome }) => outcome === "turn_limit").mean,
  };
}

const average = (values: readonly number[]) =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;

/** Share of episodes, questions counting the same. */
function share(asked: readonly AskedQuestion[], is: (record: EvalRecord) => boolean): Estimate {
  return estimate(
    asked.map(({ samples }) => samples.filter(is).length / samples.length),
    { seed },
  );
}

function bySearches(asked: readonly AskedQuestion[]): SearchValue["bySearches"] {
  const counts = new Set(asked.flatMap(({ samples }) => samples.map(({ searches }) => searches)));
  return [...counts]
    .sort((a, b) => a - b)
    .map((searches) => {
      const values = asked.flatMap(({ samples }) => {
        const some = samples.filter((record) => record.searches === searches);
        const em = average(some.map((record) => record.em ?? 0));
        return em === undefined ? [] : [em];
      });
      return { searches, ...estimate(values, { seed }) };
    });
}

/** Right with fewer answered searches than it asked for; sample by sample, which draw alike under every budget. */
function overSearch(asked: readonly AskedQuestion[], budgets: readonly SearchCondition[]): Estimate {
  const key = ({ id, sample }: EvalRecord) => `${sample} ${id}`;
  const least = new Map<string, number>();
  for (const { budget = 0, records } of [...budgets].sort((a, b) => (b.budget ?? 0) - (a.budget ?? 0)))
    for (const record of records) if (record.em === 1) least.set(key(record), budget);
  return share(asked, (record) => (least.get(key(record)) ?? Number.POSITIVE_INFINITY) < record.searches);
}

function underSearched(
  { em, outcome, searches, goldPassages, goldFound }: EvalRecord,
  most: number,
): boolean {
  const unseen = goldPassages === undefined ? searches === 0 : (goldFound ?? 0) < goldPassages;
  return em !== 1 && outcome === "answered" && searches < most && unseen;
}
