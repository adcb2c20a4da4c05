import type { EvalResult } from "../evaluate.ts";
import { describe, figureRows } from "./figure-words.ts";
import { type Html, html } from "./html.ts";
import { differenceChart, type IntervalRow, intervalChart, intervalHeight } from "./interval-chart.ts";
import { lineChart, looksOf, marker, type Size } from "./line-chart.ts";
import type { Figure, ReportedComparison } from "./report.ts";
import type { ResultChart } from "./result.ts";
import { stackChart } from "./stack-chart.ts";
import { type Cell, sliceRows, type Table } from "./tables.ts";

const narrow: Size = { width: 360, height: 230 };
const wide: Size = { width: 1080, height: 340 };
/** Most rows of the table behind a chart. */
const mostRows = 100;

const charts = { curves: lineChart, stack: stackChart } as const;

/** A chart with its legend, what it says in words, and the numbers behind it. @param large drawn anew for wide screens */
export function figureHtml(figure: Figure, large = false): Html {
  const { title, caption, curves, form } = figure;
  const chart = charts[form];
  const alt = describe(figure);
  const names = curves.map(({ name }) => name);
  return html`<figure class="${large ? "large" : "small"}">
<h3>${title}</h3>
${
  names.length > 1 &&
  legend(
    names,
    form === "stack" ? "box" : "mark",
    looksOf(curves),
    curves.map(({ kind }) => kind === "line"),
  )
}
${svg(chart(figure, narrow), narrow, alt, large ? "on-narrow" : "")}
${large && svg(chart(figure, wide), wide, alt, "on-wide")}
<figcaption>${caption}</figcaption>
${behind(figureRows(figure, mostRows))}
</figure>`;
}

/** Before and after, or the modes of one evaluation: rates with intervals, slice by slice. */
export function comparisonFigure({ benchmark, mode, steps, rows }: ReportedComparison): Html {
  const names = steps.map((step) => `step ${step}`);
  const lines = rows.map(({ label, before, after }) => ({ label, rates: [before, after] }));
  return intervalFigure(`${benchmark}, ${mode}`, lines, names);
}

export function slicesFigure(results: readonly EvalResult[]): Html {
  const labels = [...new Set(results.flatMap((result) => sliceRows(result).map(({ label }) => label)))];
  const rows = labels.map((label) => ({
    label,
    rates: results.map((result) => sliceRows(result).find((row) => row.label === label)?.rate),
  }));
  return intervalFigure(
    `${results[0]?.benchmark}, step ${results[0]?.step}`,
    rows,
    results.map(({ mode }) => mode),
  );
}

/** What the result of an ablation or of search's value is, at a glance. */
export function resultFigure({ title, rows, names, differences, what }: ResultChart): Html {
  return intervalFigure(title, rows, names, { what, draw: differences ? differenceChart : intervalChart });
}

function intervalFigure(
  title: string,
  rows: readonly IntervalRow[],
  names: readonly string[],
  { what, draw } = { what: "exact match by slice of the questions", draw: intervalChart },
): Html {
  const size: Size = { width: 360, height: intervalHeight(rows) };
  const alt = `Chart of ${what} with 95 % intervals, ${title}: ${names.join(" and ")}. The table after it has the numbers.`;
  return html`<figure class="small"><h3>${title}</h3>
${legend(
  names,
  "mark",
  names.map((_, i) => i),
)}
${svg(draw(rows, names, size.width), size, alt, "")}
</figure>`;
}

const svg = (content: Html, { width, height }: Size, alt: string, show: string) =>
  html`<svg class="chart ${show}" role="img" aria-label="${alt}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${content}</svg>`;

/** @param lines which of the names are lines: they get no marker */
function legend(
  names: readonly string[],
  form: "box" | "mark",
  look: readonly number[],
  lines: readonly boolean[] = [],
): Html {
  const sample = (i: number) => {
    const own = look[i] as number;
    if (form === "box") return html`<path class="box s${own}" d="M4 0h14v12h-14Z"/>`;
    return html`<path class="line s${own}" d="M0 6H22"/>${!lines[i] && marker(11, 6, own)}`;
  };
  return html`<ul class="legend">${names.map(
    (name, i) =>
      html`<li><svg aria-hidden="true" viewBox="0 0 22 12" width="22" height="12">${sample(i)}</svg>${name}</li>`,
  )}</ul>`;
}

const behind = (table: Table) =>
  html`<details><summary>Numbers behind this chart</summary>${tableHtml(table)}</details>`;

/** A table in a frame of its own that scrolls where it is wider than the page. */
export function tableHtml({ caption, head, rows, note }: Table): Html {
  const text = ({ text, small }: Cell) =>
    html`${text}${small !== undefined && html` <small>${small}</small>`}`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([first, ...rest]) =>
      html`<tr><th scope="row">${first && text(first)}</th>${rest.map((each) => html`<td>${text(each)}</td>`)}</tr>
`,
  )}</tbody></table></div>${note !== undefined && html`<p class="note">${note}</p>`}`;
}
