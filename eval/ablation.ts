import { mean } from "simple-statistics";
import { zip } from "../core/zip.ts";
import { shapesPart } from "../reward/identity.ts";
import { normalizerOf } from "../reward/normalize.ts";
import { isScorerKey } from "./comparable.ts";
import { type CompareMetric, compareMetric } from "./compare-metrics.ts";
import { manifestDifferences } from "./manifest.ts";
import { holm, pairedDifference } from "./paired.ts";
import { askedQuestions } from "./questions.ts";
import { type SeededDifference, seededDifference } from "./seeds.ts";
import type { StoredEvaluation } from "./stored.ts";

/** The evaluations of one cell at its last step, by seed. */
export interface CellEvaluations {
  readonly name: string;
  /** Benchmarks that its config names, measured or not; those of every other cell when absent. */
  readonly asks?: readonly string[];
  readonly bySeed: ReadonlyMap<number, readonly StoredEvaluation[]>;
}

/** One cell on one benchmark in one mode. */
export interface AblationRow {
  readonly cell: string;
  readonly benchmark: string;
  readonly mode: "greedy" | "sampled";
  /** Seeds that are measured. */
  readonly seeds: readonly number[];
  /** Questions with a value, of all seeds on average. */
  readonly questions: number;
  /** Mean over seeds of the mean over questions. */
  readonly mean: number;
  /** Of each seed, in their order. */
  readonly means: readonly number[];
  /** This cell minus what it is held against (`referenceOf`); absent for that one, and where the two have no seed or no question in common. */
  readonly against?: AblationDifference;
}

export interface AblationDifference extends SeededDifference {
  /** Seeds that both have, and questions with a value in all of them. */
  readonly seeds: readonly number[];
  readonly questions: number;
  /** p after Holm over every difference of the ablation. */
  readonly adjustedP: number;
  /** `noise`: the data do not tell the two apart. `one seed`: whatever they say, it is not of training. */
  readonly verdict: "higher" | "lower" | "noise" | "one seed";
  /** Settings of the scorer that differ: then the difference is not the policy's alone. */
  readonly scorer: readonly string[];
}

export interface CompareCells {
  readonly metric: string;
  /** Cells are runs: one seed is no claim about training. */
  readonly trained: boolean;
}

const seed = 1;

/** What cells are held against on a benchmark: the first that is asked it, so the base wherever the base is. */
export const referenceOf = <T extends Pick<CellEvaluations, "asks">>(
  cells: readonly T[],
  benchmark: string,
): T | undefined => cells.find(({ asks }) => asks === undefined || asks.includes(benchmark));

/** Every cell against the first that is asked the same, question by question and seed by seed. */
export function compareCells(cells: readonly CellEvaluations[], o: CompareCells): AblationRow[] {
  const metric = compareMetric(o.metric);
  const kinds = new Map(
    cells.flatMap(({ bySeed }) =>
      [...bySeed.values()]
        .flat()
        .map(({ benchmark, mode }) => [`${benchmark} ${mode}`, { benchmark, mode }] as const),
    ),
  );
  const rows = [...kinds.values()].flatMap((kind) => {
    const of = (cell: CellEvaluations) => tableOf(cell, kind, metric);
    const first = referenceOf(cells, kind.benchmark);
    const reference = first ? of(first) : new Map();
    return cells.flatMap((cell) => {
      const table = of(cell);
      if (table.size === 0) return [];
      const means = [...table.values()].map(({ values }) => mean([...values.values()]));
      const difference = cell === first ? undefined : against(reference, table, metric);
      return [
        {
          ...{ cell: cell.name, ...kind },
          seeds: [...table.keys()],
          questions: Math.round(mean([...table.values()].map(({ values }) => values.size))),
          ...{ mean: mean(means), means },
          ...(difference ? { against: difference } : {}),
        },
      ];
    });
  });
  const tested = rows.flatMap(({ against }) => (against ? [against.p] : []));
  const adjusted = holm(tested);
  let next = 0;
  return rows.map(({ against, ...row }): AblationRow => {
    if (!against) return row;
    const adjustedP = adjusted[next++] as number;
    const { difference, over } = against;
    const claimed = adjustedP > 0.05 || difference === 0 ? "noise" : difference > 0 ? "higher" : "lower";
    const verdict = o.trained && over === "questions" && against.seeds.length < 2 ? "one seed" : claimed;
    return { ...row, against: { ...against, adjustedP, verdict } };
  });
}

interface SeedValues {
  /** By question id. */
  readonly values: ReadonlyMap<string, number>;
  readonly manifest: StoredEvaluation["manifest"];
}

function tableOf(
  { bySeed }: CellEvaluations,
  kind: { readonly benchmark: string; readonly mode: string },
  metric: CompareMetric,
): Map<number, SeedValues> {
  return new Map(
    [...bySeed].flatMap(([seed, all]) => {
      const found = all.find(({ benchmark, mode }) => benchmark === kind.benchmark && mode === kind.mode);
      if (found === undefined || found.valid === false) return [];
      const normalizer = normalizerOf(String(found.manifest.normalizer ?? "squad"));
      const values = new Map(
        askedQuestions(found.records).flatMap((question) => {
          const value = metric.of(question, normalizer);
          return value === undefined ? [] : [[question.id, value] as const];
        }),
      );
      return values.size === 0 ? [] : [[seed, { values, manifest: found.manifest }] as const];
    }),
  );
}

function against(
  base: ReadonlyMap<number, SeedValues>,
  cell: ReadonlyMap<number, SeedValues>,
  { name, unit }: CompareMetric,
): Omit<AblationDifference, "adjustedP" | "verdict"> | undefined {
  const pairs = [...cell].flatMap(([seed, own]) => {
    const other = base.get(seed);
    return other ? [{ seed, own, other }] : [];
  });
  const ids = [...(pairs[0]?.own.values.keys() ?? [])].filter((id) =>
    pairs.every(({ own, other }) => own.values.has(id) && other.values.has(id)),
  );
  if (ids.length === 0) return undefined;
  const valuesOf = ({ values }: SeedValues) => ids.map((id) => values.get(id) as number);
  const tables = pairs.map(({ own, other }) => [valuesOf(other), valuesOf(own)] as const);
  const [first] = pairs;
  const scorer = first
    ? manifestDifferences(first.other.manifest, first.own.manifest)
        .filter(({ key }) => isScorerKey(key) || shapesPart(key, name))
        .map(({ key, a, b }) => `${key} ${a ?? "(none)"} → ${b ?? "(none)"}`)
    : [];
  return {
    ...differenceOf(tables, unit),
    seeds: pairs.map(({ seed }) => seed),
    questions: ids.length,
    scorer,
  };
}

/** One seed is a paired comparison like any other; several are a table of seeds by questions. */
function differenceOf(
  tables: readonly (readonly [base: readonly number[], cell: readonly number[]])[],
  unit: boolean,
): SeededDifference {
  const [first] = tables;
  if (first === undefined || tables.length > 1) {
    const d = tables.map(([base, cell]) => zip(base, cell).map(([a, b]) => b - a));
    return seededDifference(d, { seed, unit });
  }
  const { difference, low, high, pairs, signFlip } = pairedDifference(...first, { seed, unit });
  const p = pairs?.mcnemar ?? signFlip;
  return { difference, low, high, p, bySeed: [difference], over: "questions" };
}
