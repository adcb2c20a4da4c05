import { join } from "node:path";
import { mean } from "simple-statistics";
import { csvTable } from "../core/csv.ts";
import { writeFileAtomic } from "../core/files.ts";
import { type CellEvaluations, compareCells, referenceOf } from "../eval/ablation.ts";
import { type Curve, type CurvePoint, curveRows } from "../eval/ablation-curves.ts";
import { type AblationReport, showAblation } from "../eval/ablation-table.ts";
import { chosenEvaluations } from "../eval/match.ts";
import { readEvaluation } from "../eval/stored.ts";
import { openRunNumbers } from "../track/run-numbers.ts";
import { sampledTokens } from "../track/sampled-tokens.ts";
import { type AblationPlan, cellChanges, type Job } from "./ablation-folder.ts";

/** How a job ended. */
export type Ending =
  | { readonly status: "done" | "interrupted" | "pending" }
  | { readonly status: "failed"; readonly error: string };

/** Metrics of training whose curves are shown, where they were recorded. */
const trainingCurves = ["em", "reward", "searches", "entropy", "policy_tokens", "zero_std_frac"];

/** Everything that the cells that are done say, read from their folders. */
export function ablationReport(
  plan: AblationPlan,
  jobs: readonly Job[],
  endings: ReadonlyMap<Job, Ending>,
): AblationReport {
  const done = jobs.filter((job) => endings.get(job)?.status === "done");
  const of = (cell: string) => done.filter((job) => job.cell === cell);
  const trained = plan.what === "train";
  const asked = (name: string) =>
    jobs.find(({ cell }) => cell === name)?.loaded.config.eval.benchmarks.map((each) => each.name) ?? [];
  const evaluated = plan.cells.map((name): CellEvaluations => {
    const seeds = of(name).map(({ seed, folder }) => {
      return [seed, chosenEvaluations(folder, {}).map(readEvaluation)] as const;
    });
    return { name, asks: asked(name), bySeed: new Map(seeds) };
  });
  const base = jobs.find(({ cell }) => cell === plan.cells[0]);
  const changes = (name: string) => {
    const own = jobs.find(({ cell, seed }) => cell === name && seed === base?.seed);
    return base && own ? cellChanges(base.loaded.config, own.loaded.config) : [];
  };
  const tokensOf = (name: string) => {
    const runs = trained ? of(name).map(({ folder }) => sampledTokensIn(folder)) : [];
    return runs.length === 0 ? {} : { sampledTokens: mean(runs) };
  };
  const open = jobs.length - done.length;
  return {
    ...(open > 0 ? { unfinished: { n: open, of: jobs.length } } : {}),
    name: plan.name,
    metric: plan.metric,
    notes: [...notesOf(plan, jobs, endings), ...otherReferences(evaluated)],
    cells: plan.cells.map((name) => ({ name, changes: changes(name), ...tokensOf(name) })),
    rows: compareCells(evaluated, { metric: plan.metric, trained }),
    failed: jobs.flatMap((job) => {
      const ending = endings.get(job);
      return ending?.status === "failed" ? [{ cell: job.cell, seed: job.seed, error: ending.error }] : [];
    }),
    curves: trained ? [...evaluationCurves(done), ...metricCurves(done)] : [],
  };
}

function notesOf(
  { what, seeds }: AblationPlan,
  jobs: readonly Job[],
  endings: ReadonlyMap<Job, Ending>,
): string[] {
  const open = jobs.filter((job) => endings.get(job)?.status !== "done").length;
  return [
    ...(what === "train" && seeds.length < 3 ? [fewSeeds(seeds.length)] : []),
    ...(open > 0
      ? [`${open} of ${jobs.length} cells and seeds are not done: what follows is of the others`]
      : []),
    what === "train"
      ? "differences: the cell minus the base, question by question; intervals and p allow for other seeds and other questions"
      : "differences: the cell minus the base, question by question",
  ];
}

/** Cells on other data are held against the first of their own. */
function otherReferences(cells: readonly CellEvaluations[]): string[] {
  const benchmarks = [...new Set(cells.flatMap(({ asks = [] }) => asks))];
  return benchmarks.flatMap((benchmark) => {
    const first = referenceOf(cells, benchmark);
    return first === undefined || first === cells[0]
      ? []
      : [`${benchmark}, which the base is not asked: against ${first.name}`];
  });
}

export const fewSeeds = (n: number): string =>
  `${n === 1 ? "one seed" : `${n} seeds`}: fewer than 3 say nothing of how training comes out in general`;

function sampledTokensIn(folder: string): number {
  const numbers = openRunNumbers(folder);
  try {
    return sampledTokens(numbers.steps);
  } finally {
    numbers.close();
  }
}

/** Exact match of every evaluation that the runs made on their way. */
function evaluationCurves(done: readonly Job[]): Curve[] {
  const points = new Map<string, CurvePoint[]>();
  for (const { cell, seed, folder } of done) {
    const numbers = openRunNumbers(folder);
    try {
      for (const { step, data } of numbers.events("eval")) {
        const { benchmark, mode, em } = data as { benchmark: string; mode: string; em: number };
        const metric = `EM ${benchmark}, ${mode}`;
        points.set(metric, [...(points.get(metric) ?? []), { cell, seed, step, value: em }]);
      }
    } finally {
      numbers.close();
    }
  }
  return [...points].map(([metric, own]) => ({ metric, points: own }));
}

function metricCurves(done: readonly Job[]): Curve[] {
  const steps = done.flatMap(({ cell, seed, folder }) => {
    const numbers = openRunNumbers(folder);
    const own = numbers.steps.filter(({ phase }) => phase === "rl");
    numbers.close();
    return own.map(({ step, metrics }) => ({ cell, seed, step, metrics }));
  });
  return trainingCurves.flatMap((metric): Curve[] => {
    const points = steps.flatMap(({ metrics, ...at }) => {
      const value = metrics[metric];
      return value === undefined ? [] : [{ ...at, value }];
    });
    return points.length === 0 ? [] : [{ metric: `training ${metric}`, points }];
  });
}

/** Writes ablation.json, .md and .csv, and every point of the curves. */
export function writeResults(out: string, report: AblationReport): void {
  const put = (name: string, text: string) => writeFileAtomic(join(out, name), text);
  put("ablation.json", `${JSON.stringify(report, null, 2)}\n`);
  put("ablation.md", `${showAblation(report, true)}\n`);
  put("ablation.csv", csvTable(ablationRows(report)));
  if (report.curves.length > 0) put("curves.csv", csvTable(curveRows(report.curves)));
}

/** Numbers, not the text of the table. */
const ablationRows = (report: AblationReport): (string | number | undefined)[][] => [
  ["cell", "benchmark", "mode", "seeds", "questions", report.metric, "difference", "low", "high"].concat([
    "p",
    "p_holm",
    "verdict",
    "sampled_tokens",
  ]),
  ...report.rows.map(({ cell, benchmark, mode, seeds, questions, mean, against: a }) => [
    ...[cell, benchmark, mode, seeds.length, questions, mean],
    ...[a?.difference, a?.low, a?.high, a?.p, a?.adjustedP, a?.verdict],
    report.cells.find(({ name }) => name === cell)?.sampledTokens,
  ]),
];
