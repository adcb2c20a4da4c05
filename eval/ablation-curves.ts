import { mean } from "simple-statistics";
import { type Cells, markdownTable, textTable } from "./cells.ts";

/** A value of one run after so many updates. */
export interface CurvePoint {
  readonly cell: string;
  readonly seed: number;
  readonly step: number;
  readonly value: number;
}

/** One quantity of every cell over the steps. */
export interface Curve {
  /** Such as "reward" of training, or "EM world-test greedy" of evaluations. */
  readonly metric: string;
  readonly points: readonly CurvePoint[];
}

/** A cell's curve over its seeds. */
export interface CellCurve {
  readonly cell: string;
  readonly points: readonly {
    readonly step: number;
    readonly mean: number;
    /** Smallest and largest of the seeds. */
    readonly low: number;
    readonly high: number;
    readonly seeds: number;
  }[];
}

/** Cells in the order in which they occur. */
export function cellCurves({ points }: Curve): CellCurve[] {
  return [...new Set(points.map(({ cell }) => cell))].map((cell) => {
    const own = points.filter((point) => point.cell === cell);
    const steps = [...new Set(own.map(({ step }) => step))].sort((a, b) => a - b);
    return {
      cell,
      points: steps.map((step) => {
        const values = own.filter((point) => point.step === step).map(({ value }) => value);
        const [low, high] = [Math.min(...values), Math.max(...values)];
        return { step, mean: mean(values), low, high, seeds: values.length };
      }),
    };
  });
}

/** Columns of a table at most: the first, the last, and steps evenly between. */
const most = 7;

/** One curve as a table of steps, with its shape in blocks that all cells share the scale of. */
export function showCurve(curve: Curve, markdown: boolean): string {
  const cells = cellCurves(curve);
  const steps = [...new Set(curve.points.map(({ step }) => step))].sort((a, b) => a - b);
  const shown = steps.filter((_, i) => chosen(i, steps.length));
  const values = cells.flatMap(({ points }) => points.map((point) => point.mean));
  const scale = { low: Math.min(...values), high: Math.max(...values) };
  const rows: Cells = [
    [`${curve.metric}, after step`, ...shown.map(String), ""],
    ...cells.map(({ cell, points }) => [
      cell,
      ...shown.map((step) => decimal(points.find((point) => point.step === step)?.mean)),
      spark(
        points.map((point) => point.mean),
        scale,
      ),
    ]),
  ];
  return (markdown ? markdownTable : textTable)(rows);
}

const chosen = (i: number, n: number) =>
  n <= most || Array.from({ length: most }, (_, k) => Math.round((k * (n - 1)) / (most - 1))).includes(i);

const decimal = (value: number | undefined) =>
  value === undefined ? "–" : value.toFixed(3).replace("-", "−");

const blocks = "▁▂▃▄▅▆▇█";

/** At most 24 blocks; more steps are averaged. */
function spark(values: readonly number[], { low, high }: { low: number; high: number }): string {
  const size = Math.ceil(values.length / 24);
  const bins = Array.from({ length: Math.ceil(values.length / size) }, (_, i) =>
    mean(values.slice(i * size, (i + 1) * size)),
  );
  const place = (value: number) =>
    high > low ? Math.min(7, Math.floor((8 * (value - low)) / (high - low))) : 0;
  return bins.map((value) => blocks[place(value)]).join("");
}

/** Every point, one a row. */
export const curveRows = (curves: readonly Curve[]): (string | number)[][] => [
  ["metric", "cell", "seed", "step", "value"],
  ...curves.flatMap(({ metric, points }) =>
    points.map(({ cell, seed, step, value }) => [metric, cell, seed, step, value]),
  ),
];
