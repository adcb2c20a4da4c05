import { compact, interval, thin } from "./format.ts";
import type { Figure } from "./report.ts";
import { cell, type Table } from "./tables.ts";

/** The numbers behind a figure, a row a step. @param most rows */
export function figureRows({ title, curves, axis = "step" }: Figure, most: number): Table {
  const steps = [...new Set(curves.flatMap(({ points }) => points.map(({ step }) => step)))].sort(
    (a, b) => a - b,
  );
  const at = curves.map(({ points }) => new Map(points.map((point) => [point.step, point])));
  // A measurement is never left out for a step of training between two others.
  const measured = curves.flatMap(({ kind, points }) =>
    kind === "points" ? points.map(({ step }) => step) : [],
  );
  const kept = new Set([
    ...thin([...new Set(measured)], most),
    ...thin(steps, Math.max(2, most - new Set(measured).size)),
  ]);
  const shown = steps.filter((step) => kept.has(step));
  return {
    caption: title,
    head: [axis, ...curves.map(({ name }) => name)],
    rows: shown.map((step) => [
      cell(`${step}`),
      ...at.map((points) => {
        const point = points.get(step);
        if (!point) return cell("–");
        const { value, low, high } = point;
        return cell(
          compact(value),
          low === undefined || high === undefined ? undefined : interval({ low, high }),
        );
      }),
    ]),
    ...(shown.length < steps.length
      ? { note: `${shown.length} of ${steps.length} steps; the JSON and CSV forms of this report have all.` }
      : {}),
  };
}

/** In words, for who does not see the figure. */
export function describe({ title, curves, form, axis = "step" }: Figure): string {
  const said = curves.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    if (!first || !last) return `${name}: nothing`;
    if (first === last) return `${name}: ${compact(first.value)} at ${axis} ${first.step}`;
    const values = points.map(({ value }) => value);
    const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
    return `${name}: ${compact(first.value)} at ${axis} ${first.step}, ${compact(last.value)} at ${axis} ${last.step}, between ${compact(low)} and ${compact(high)}`;
  });
  return `${form === "stack" ? "Columns" : "Chart"} of ${title.toLowerCase()} over ${axis === "step" ? "training steps" : axis}. ${said.join(". ")}.`;
}
