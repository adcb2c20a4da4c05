import { exampleHtml } from "./episode-html.ts";
import { latest } from "./evaluation-figures.ts";
import { comparisonFigure, figureHtml, resultFigure, slicesFigure, tableHtml } from "./figure-html.ts";
import { decimal, percent, signed } from "./format.ts";
import { Html, html } from "./html.ts";
import { type Report, reportKinds, sections } from "./report.ts";
import { cellTables, resultsOf, resultTitle } from "./result.ts";
import { style } from "./style.ts";
import {
  comparisonNotes,
  comparisonRows,
  evaluationRows,
  groupRows,
  outcomeTable,
  sampleTable,
  sliceTable,
} from "./tables.ts";
import { teamTables } from "./team-tables.ts";

/** First line of every page that we wrote. */
export const pageMark = "<!doctype html><!-- forager report -->";

/** The report as one page that asks for nothing: no script, no font, no image, and a policy that forbids them. */
export function reportPage(report: Report): string {
  const title = `${report.name}: ${reportKinds[report.kind]}`;
  const page = html`<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer"><meta name="generator" content="forager report"><link rel="icon" href="data:,">
<title>${title}</title><style>${new Html(style)}</style></head><body><main>
${header(report, title)}
${contents(report).map(([, body]) => body)}
<footer>Written by forager report from what was recorded; the same record gives the same page.</footer>
</main></body></html>
`;
  return `${pageMark}\n${page}`;
}

function header(report: Report, title: string): Html {
  const { partial, headline, alarms } = report;
  return html`<header><h1>${title}</h1>
${partial.length > 0 && html`<div class="partial" role="note"><p><b>Partial.</b> ${partial.join("; ")}.</p></div>`}
<p class="headline">${headline.join(" ")}</p>
${tiles(report)}
${
  alarms.length > 0 &&
  html`<div class="alarms" role="note"><b>Alarms</b><ul>${alarms.map(
    ({ text, steps, first, last }) =>
      html`<li>${text} <span class="note">(${steps === 1 ? `step ${first}` : `${steps} times, steps ${first} to ${last}`})</span></li>`,
  )}</ul></div>`
}
<nav aria-label="Sections"><ul>${contents(report).map(([[id, name]]) => html`<li><a href="#${id}">${name}</a></li>`)}</ul></nav></header>`;
}

function tiles({ comparisons, facts, groups }: Report): Html | false {
  const known = new Map(facts.map(({ name, value }) => [name, value]));
  const tile = (name: string, value: string | undefined, small?: string) =>
    value !== undefined &&
    html`<div><dt>${name}</dt><dd>${value}${small !== undefined && html`<small>${small}</small>`}</dd></div>`;
  const comparison = comparisons[0];
  const all = comparison?.rows[0];
  const kept = groups.find(({ verdict }) => verdict === "kept")?.share;
  const shown = [
    all &&
      tile(
        "exact match",
        `${decimal(all.before.em)} → ${decimal(all.after.em)}`,
        `${signed(all.change)}, n ${all.after.n}, ${comparison.mode}`,
      ),
    comparison &&
      tile("searches", comparison.searches.map((value) => value.toFixed(2)).join(" → "), "an episode"),
    kept && tile("groups learnt from", percent(kept.em), `of ${kept.n}`),
    tile("training steps", known.get("training steps")),
    tile("episodes", known.get("episodes")),
    tile("wall time", known.get("wall time")),
  ].filter((each) => each !== undefined && each !== false);
  return shown.length > 0 && html`<dl class="tiles">${shown}</dl>`;
}

/** The sections that there is something for: id and name, then what is in it. */
function contents(report: Report): [readonly [id: string, name: string], Html][] {
  const all: [readonly [string, string], Html | undefined][] = [
    [["result", resultTitle(report)], results(report)],
    [["cells", "The cells"], cells(report)],
    ...(["searches", "curves"] as const).map((name): [readonly [string, string], Html | undefined] => [
      [name, sections[name]],
      figures(report, name),
    ]),
    [["answers", "Exact match"], answers(report)],
    [["comparison", comparisonTitle(report)], compared(report)],
    ...(["reward", "signal", "behaviour"] as const).map(
      (name): [readonly [string, string], Html | undefined] => [
        [name, sections[name]],
        figures(report, name),
      ],
    ),
    [["team", sections.team], team(report)],
    [["episodes", report.example?.title ?? ""], report.example && exampleHtml(report.example)],
    [["evaluations", "Evaluations"], evaluations(report)],
    ...(["optimiser", "warmUp"] as const).map((name): [readonly [string, string], Html | undefined] => [
      [name, sections[name]],
      figures(report, name),
    ]),
    [["facts", "What made it"], made(report)],
  ];
  return all.flatMap(([heading, body]) => (body ? [[heading, body] as const] : [])) as [
    readonly [string, string],
    Html,
  ][];
}

function results(report: Report): Html | undefined {
  const all = resultsOf(report);
  if (all.length === 0) return undefined;
  return html`${heading("result", resultTitle(report))}${all.map(({ chart, table, notes }) => {
    const said = notes.map((note) => html`<p class="note">${note}</p>`);
    // A table of many columns has the page's width to itself.
    if (chart && table.head.length > 9)
      return html`<div class="pair">${resultFigure(chart)}<div class="card">${said}</div></div><div class="card">${tableHtml(table)}</div>`;
    const card = html`<div class="card">${tableHtml(table)}${said}</div>`;
    return chart ? html`<div class="pair">${resultFigure(chart)}${card}</div>` : card;
  })}`;
}

function cells(report: Report): Html | undefined {
  const tables = cellTables(report);
  if (tables.length === 0) return undefined;
  return html`${heading("cells", "The cells")}<div class="card text">${tables.map(tableHtml)}</div>`;
}

const heading = (id: string, name: string) => html`<h2 id="${id}">${name}</h2>`;

function answers({ figures }: Report): Html | undefined {
  const [first, ...rest] = figures.filter(({ section }) => section === "answers");
  return (
    first &&
    html`${heading("answers", sections.answers)}${figureHtml(first, true)}<div class="grid-of">${rest.map((each) => figureHtml(each))}</div>`
  );
}

const comparisonTitle = ({ comparisons }: Report) =>
  comparisons.length > 0 ? "Before and after" : "Exact match by questions";

function compared(report: Report): Html | undefined {
  const { comparisons, evaluations } = report;
  if (comparisons.length > 0)
    return html`${heading("comparison", comparisonTitle(report))}${comparisons.map(
      (comparison) =>
        html`<div class="pair">${comparisonFigure(comparison)}<div class="card">${tableHtml(comparisonRows(comparison))}${comparisonNotes(
          comparison,
        ).map((note) => html`<p class="note">${note}</p>`)}</div></div>`,
    )}`;
  if (evaluations.length === 0) return undefined;
  return html`${heading("comparison", comparisonTitle(report))}${latest(evaluations).map(
    (results) =>
      html`<div class="pair">${slicesFigure(results)}<div class="card">${tableHtml(sliceTable(results))}</div></div>`,
  )}`;
}

function figures({ figures, groups }: Report, name: keyof typeof sections): Html | undefined {
  const own = figures.filter(({ section }) => section === name);
  const causes = name === "signal" && groups.length > 0;
  if (own.length === 0 && !causes) return undefined;
  return html`${heading(name, sections[name])}<div class="grid-of">${own.map((each) => figureHtml(each))}${
    causes && html`<div class="card text">${tableHtml(groupRows(groups))}</div>`
  }</div>`;
}

function team(report: Report): Html | undefined {
  if (!report.team) return undefined;
  const [roles, drivers, ...others] = teamTables(report.team);
  const own = report.figures.filter(({ section }) => section === "team");
  return html`${heading("team", sections.team)}<div class="pair">${[roles, drivers].map(
    (table) => table && html`<div class="card">${tableHtml(table)}</div>`,
  )}</div>${others.map((table) => html`<div class="${table.head[1] === "learn" ? "card text below" : "card below"}">${tableHtml(table)}</div>`)}<div class="grid-of">${own.map((each) => figureHtml(each))}</div>`;
}

function evaluations({ evaluations: results }: Report): Html | undefined {
  if (results.length === 0) return undefined;
  const samples = sampleTable(results);
  return html`${heading("evaluations", "Evaluations")}<div class="card">${tableHtml(evaluationRows(results))}${samples && tableHtml(samples)}${tableHtml(outcomeTable(results))}</div>`;
}

function made({ facts }: Report): Html | undefined {
  if (facts.length === 0) return undefined;
  return html`${heading("facts", "What made it")}<dl class="facts card">${facts.map(
    ({ name, value }) => html`<dt>${name}</dt><dd>${value}</dd>`,
  )}</dl>`;
}
