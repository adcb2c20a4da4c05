import { type Curve as CellsCurve, cellCurves } from "../ablation-curves.ts";
import type { AblationReport } from "../ablation-table.ts";
import { compact, count, rateText, signed } from "./format.ts";
import type { Curve, Figure, MeasuredSearch, Point, Report } from "./report.ts";
import { probability, rateOf } from "./result.ts";

const empty = {
  format: "forager-report",
  ...{ partial: [], comparisons: [], evaluations: [], groups: [], alarms: [] },
} as const;

/** The report of an ablation. @param facts what else is known of it */
export function reportOfAblation({ curves, ...ablation }: AblationReport, facts: Report["facts"]): Report {
  const { unfinished, failed } = ablation;
  return {
    ...empty,
    ...{ kind: "ablation", name: ablation.name, ablation },
    partial: [
      ...(unfinished ? [`${unfinished.n} of ${unfinished.of} cells and seeds are not done`] : []),
      ...(failed.length > 0 ? [`${count(failed.length, "cell and seed", "cells and seeds")} failed`] : []),
    ],
    headline: ablationHeadline(ablation),
    facts: [...facts, ...ablation.notes.map((value) => ({ name: "note", value }))],
    figures: curves.flatMap(curveFigures),
  };
}

function ablationHeadline({ rows, metric }: Report["ablation"] & object): string[] {
  const [first] = rows;
  if (!first) return ["No cell has been measured yet."];
  const { benchmark, mode } = first;
  const own = rows.filter((row) => row.benchmark === benchmark && row.mode === mode);
  const compared = own.flatMap(({ cell, against }) => (against ? [{ cell, ...against }] : []));
  const base = own.find(({ against }) => against === undefined);
  const said = `${metric} on ${benchmark} (${mode}): ${base ? `${base.cell} ${compact(base.mean)}` : "the base is not measured"}`;
  if (compared.length === 0) return [`${said}; no cell to compare with it yet.`];
  const told = compared.filter(({ verdict }) => verdict === "higher" || verdict === "lower");
  const list = told.map(({ cell, difference }) => `${cell} ${signed(difference)}`).join(", ");
  const alone = compared.every(({ verdict }) => verdict === "one seed");
  return [
    `${said}.`,
    told.length > 0
      ? `Different beyond noise, of ${count(compared.length, "cell")}: ${list}.`
      : alone
        ? "One seed says nothing of how training comes out again, so no difference is claimed."
        : `None of ${count(compared.length, "cell")} differs from it beyond noise.`,
  ];
}

/** Cells beside the base in one chart: more could not be told apart. */
const mostCells = 6;
const shares = /^(EM |training (em|zero_std_frac)$)/;

/** One quantity of all cells over the steps, the base in every chart. */
function curveFigures(curve: CellsCurve): Figure[] {
  const evaluated = curve.metric.startsWith("EM ");
  const [base, ...others] = cellCurves(curve).map(
    ({ cell: name, points }): Curve => ({
      ...{ name, kind: evaluated ? "points" : "line" },
      points: points.map(
        ({ step, mean: value, low, high, seeds: n }): Point => ({
          ...{ step, value, n },
          ...(n > 1 ? { low, high } : {}),
        }),
      ),
    }),
  );
  if (!base) return [];
  const charts = Math.max(1, Math.ceil(others.length / mostCells));
  return Array.from({ length: charts }, (_, part) => ({
    ...{
      id: ["curve", curve.metric.replace(/[^A-Za-z0-9]+/g, "-"), ...(part > 0 ? [part + 1] : [])].join("-"),
      section: "curves",
      form: "curves",
    },
    title: curve.metric + (charts > 1 ? `, ${part + 1} of ${charts}` : ""),
    caption: `${evaluated ? "Evaluations after so many updates. " : ""}Mean of the seeds; ${evaluated ? "bars" : "bands"} reach from the lowest seed to the highest and are no intervals.`,
    range: shares.test(curve.metric) ? "share" : "free",
    curves: [base, ...others.slice(part * mostCells, (part + 1) * mostCells)],
  }));
}

/** The report of `forager search-value`. */
export function reportOfSearchValue(
  name: string,
  searchValue: readonly MeasuredSearch[],
  facts: Report["facts"],
): Report {
  return {
    ...empty,
    ...{ kind: "search-value", name, facts, searchValue },
    headline: searchHeadline(searchValue),
    figures: searchValue.flatMap((each, i) => searchFigures(each, i)),
  };
}

function searchHeadline([first]: readonly MeasuredSearch[]): string[] {
  const reference = first?.value.rows.find(({ difference }) => difference === undefined);
  if (!first || !reference) return ["Nothing has been measured yet."];
  const said = `Exact match on ${first.benchmark} (${first.mode}, ${count(reference.em.n, "question")}) is ${rateText(rateOf(reference.em))} with the engine`;
  const without = ["off", "empty", "budget-0"]
    .map((name) => first.value.rows.find((row) => row.name === name))
    .find((row) => row !== undefined);
  if (!without?.difference) return [`${said}.`];
  const { name, em, difference } = without;
  const words = name === "off" ? "without search" : "when every search finds nothing";
  return [
    `${said} and ${rateText(rateOf(em))} ${words}.`,
    difference.adjustedP > 0.05
      ? `The data do not tell the two apart (p after Holm ${probability(difference.adjustedP)}).`
      : `Search is worth ${signed(-difference.difference)} (p after Holm ${probability(difference.adjustedP)}).`,
  ];
}

/** Exact match by the searches that were answered, and by those that the policy made of its own accord. */
function searchFigures({ title, value }: MeasuredSearch, i: number): Figure[] {
  const share = { section: "searches", form: "curves", range: "share" } as const;
  const point = (step: number, em: Parameters<typeof rateOf>[0]): Point => ({
    ...{ step, value: em.mean, low: em.low, high: em.high, n: em.n },
  });
  const budgets = value.rows.flatMap(({ budget, em }) => (budget === undefined ? [] : [point(budget, em)]));
  const engine = value.rows.find(({ difference }) => difference === undefined);
  const steps = budgets.map(({ step }) => step);
  const level = [Math.min(...steps), Math.max(...steps)];
  const figures: Figure[] = [
    {
      ...{ ...share, id: `budgets-${i}`, title: `By budget: ${title}`, axis: "searches answered" },
      caption:
        "So many searches are answered, later ones find nothing; the line is the engine without a budget. 95 % intervals over questions.",
      curves: [
        { name: "budget", kind: "points", points: budgets.sort((a, b) => a.step - b.step) },
        ...(engine && budgets.length > 1
          ? [{ name: "engine", kind: "line", points: level.map((step) => point(step, engine.em)) } as const]
          : []),
      ],
    },
    {
      ...{ ...share, id: `searches-made-${i}`, title: `By searches made: ${title}`, axis: "searches made" },
      caption:
        "With the engine, the questions by how often the policy searched: harder questions take more searches. 95 % intervals.",
      curves: [
        {
          name: "engine",
          kind: "points",
          points: value.bySearches.map((each) => point(each.searches, each)),
        },
      ],
    },
  ];
  return figures.filter(({ curves }) => (curves[0]?.points.length ?? 0) > 0);
}
