import { join } from "node:path";
import { writeFileAtomic } from "../core/files.ts";
import { type CellEvaluations, compareCells } from "../eval/ablation.ts";
import { type Curve, type CurvePoint, curveRows } from "../eval/ablation-curves.ts";
import { type AblationReport, configChanges, showAblation } from "../eval/ablation-table.ts";
import { csvTable } from "../eval/csv.ts";
import { chosenEvaluations } from "../eval/match.ts";
import { readEvaluation } from "../eval/stored.ts";
import { openRunNumbers } from "../track/run-numbers.ts";
import type { AblationPlan, Job } from "./ablation-folder.ts";

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
  const evaluated = plan.cells.map((name): CellEvaluations => {
    const seeds = of(name).map(({ seed, folder }) => {
      return [seed, chosenEvaluations(folder, {}).map(readEvaluation)] as const;
    });
    return { name, bySeed: new Map(seeds) };
  });
  const base = jobs.find(({ cell }) => cell === plan.cells[0]);
  const changes = (name: string) => {
    const own = jobs.find(({ cell, seed }) => cell === name && seed === base?.seed);
    const { run: _run, ...of } = own?.loaded.config ?? {};
    const { run: _base, ...before } = base?.loaded.config ?? {};
    return configChanges(before, of);
  };
  return {
    name: plan.name,
    metric: plan.metric,
    notes: notesOf(plan, jobs, endings),
    cells: plan.cells.map((name) => ({ name, changes: changes(name) })),
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

export const fewSeeds = (n: number): string =>
  `${n === 1 ? "one seed" : `${n} seeds`}: fewer than 3 say nothing of how training comes out in general`;

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
  ]),
  ...report.rows.map(({ cell, benchmark, mode, seeds, questions, mean, against: a }) => [
    ...[cell, benchmark, mode, seeds.length, questions, mean],
    ...[a?.difference, a?.low, a?.high, a?.p, a?.adjustedP, a?.verdict],
  ]),
];
