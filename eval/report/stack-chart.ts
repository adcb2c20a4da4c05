import { percent } from "./format.ts";
import { type Html, html } from "./html.ts";
import { frame, hit, looks, margin, px, type Size } from "./line-chart.ts";
import type { Curve, Figure } from "./report.ts";
import { shareScale, stepScale } from "./scale.ts";

/** More columns than this would be thinner than a line. */
const mostColumns = 60;

interface Column {
  readonly from: number;
  readonly to: number;
  /** One value a curve, the mean over its steps. */
  readonly values: readonly number[];
}

/** Shares of one whole as columns over the steps, on top of each other; neighbouring steps share a column of a long run. */
export function stackChart({ curves }: Figure, size: Size): Html {
  const columns = columnsOf(curves);
  const ends = columns.flatMap(({ from, to }) => [from - 0.5, to + 0.5]);
  const x = stepScale(ends, margin.left, size.width - margin.right, Math.max(3, Math.round(size.width / 75)));
  const y = shareScale(size.height - margin.bottom, margin.top);
  return html`${frame(x, y, size)}${columns.map(({ from, to, values }) => {
    const [left, right] = [x.at(from - 0.5), x.at(to + 0.5)];
    const gap = Math.min(1, (right - left) / 8);
    let below = 0;
    const boxes = values.map((value, i) => {
      const [bottom, top] = [y.at(below), y.at(below + value)];
      below += value;
      return (
        value > 0 &&
        html`<path class="box s${i % looks}" d="M${px(left + gap)} ${px(bottom)}V${px(top)}H${px(right - gap)}V${px(bottom)}Z"/>`
      );
    });
    const steps = from === to ? `step ${from}` : `steps ${from} to ${to}`;
    const title = curves.map(({ name }, i) => `${name} ${percent(values[i] as number)}`).join(", ");
    return html`${boxes}${hit((left + right) / 2, y.at(below / 2), `${steps}: ${title}`)}`;
  })}`;
}

function columnsOf(curves: readonly Curve[]): Column[] {
  const steps = [...new Set(curves.flatMap(({ points }) => points.map(({ step }) => step)))].sort(
    (a, b) => a - b,
  );
  const at = curves.map(({ points }) => new Map(points.map(({ step, value }) => [step, value])));
  const each = Math.max(1, Math.ceil(steps.length / mostColumns));
  return Array.from({ length: Math.ceil(steps.length / each) }, (_, c) => {
    const some = steps.slice(c * each, (c + 1) * each);
    const values = at.map((of) => some.reduce((sum, step) => sum + (of.get(step) ?? 0), 0) / some.length);
    return { from: some[0] as number, to: some.at(-1) as number, values };
  });
}
