import { modelCard } from "./card.ts";
import { shorten } from "./episode-html.ts";
import { latest } from "./evaluation-figures.ts";
import { figureRows } from "./figure-words.ts";
import { count } from "./format.ts";
import { invisible } from "./html.ts";
import { type Example, type Report, reportKinds, sections } from "./report.ts";
import { cellTables, resultsOf, resultTitle } from "./result.ts";
import {
  type Cell,
  comparisonNotes,
  comparisonRows,
  evaluationRows,
  groupRows,
  sampleTable,
  sliceTable,
  type Table,
} from "./tables.ts";
import { teamTables } from "./team-tables.ts";

/** Steps of a curve that the page has; JSON and CSV have all. */
const mostRows = 12;

/** The report as a model card: front matter with the evaluations, then everything but the pictures. */
export function reportMarkdown(report: Report): string {
  const { name, kind, partial, headline, comparisons, evaluations, groups, figures, example, facts, alarms } =
    report;
  const samples = sampleTable(evaluations);
  const by = (section: keyof typeof sections) => figures.filter((figure) => figure.section === section);
  const blocks: (string | false)[] = [
    `# ${escapeMarkdown(name)}: ${reportKinds[kind]}`,
    partial.length > 0 && `> **Partial.** ${escapeMarkdown(partial.join("; "))}.`,
    escapeMarkdown(headline.join(" ")),
    alarms.length > 0 &&
      list(
        alarms.map(
          ({ text, steps, first, last }) => `${text} (${count(steps, "step")}, ${first} to ${last})`,
        ),
        "Alarms",
      ),
    ...resultsOf(report).flatMap(({ table, notes }, i) => [
      i === 0 && `## ${resultTitle(report)}`,
      tableMarkdown(table),
      notes.length > 0 && list(notes),
    ]),
    ...cellTables(report).flatMap((table, i) => [i === 0 && "## The cells", tableMarkdown(table)]),
    ...(comparisons.length > 0
      ? [
          "## Before and after",
          ...comparisons.flatMap((each) => [
            tableMarkdown(comparisonRows(each)),
            ...comparisonNotes(each).map(escapeMarkdown),
          ]),
        ]
      : latest(evaluations).flatMap((results, i) => [
          i === 0 && "## Exact match by questions",
          tableMarkdown(sliceTable(results)),
        ])),
    ...(evaluations.length > 0 ? ["## Evaluations", tableMarkdown(evaluationRows(evaluations))] : []),
    samples !== undefined && tableMarkdown(samples),
    ...Object.entries(sections).flatMap(([section, title]) => {
      const own = by(section as keyof typeof sections);
      const tables = section === "team" && report.team ? teamTables(report.team) : [];
      if (own.length + tables.length === 0) return [];
      return [
        `## ${title}`,
        ...tables.map(tableMarkdown),
        ...own.flatMap((figure) => [
          tableMarkdown(figureRows(figure, mostRows)),
          escapeMarkdown(figure.caption),
        ]),
        section === "signal" && groups.length > 0 && tableMarkdown(groupRows(groups)),
      ];
    }),
    ...(example ? exampleMarkdown(example) : []),
    facts.length > 0 && `## What made it\n\n${list(facts.map((fact) => `${fact.name}: ${fact.value}`))}`,
  ];
  return `${modelCard(report)}\n${blocks.filter((block) => block !== false).join("\n\n")}\n`;
}

const list = (items: readonly string[], title?: string) =>
  `${title === undefined ? "" : `**${title}**\n\n`}${items.map((item) => `- ${escapeMarkdown(item)}`).join("\n")}`;

export function tableMarkdown({ caption, head, rows, note }: Table): string {
  const text = ({ text, small }: Cell) => escapeMarkdown(small === undefined ? text : `${text} ${small}`);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    `**${escapeMarkdown(caption)}**`,
    "",
    line(head.map(escapeMarkdown)),
    line(head.map((_, i) => (i === 0 ? "---" : "---:"))),
    ...rows.map((row) => line(row.map(text))),
    ...(note === undefined ? [] : ["", escapeMarkdown(note)]),
  ].join("\n");
}

function exampleMarkdown({ title, chosen, episodes }: Example): string[] {
  return [
    `## ${title}`,
    escapeMarkdown(chosen),
    ...episodes.flatMap(
      ({ label, right, outcome, prediction, turns, searches, segments, question, goldenAnswers }) => {
        let turn = 0;
        return [
          `### ${escapeMarkdown(label)}: ${right ? "right" : "wrong"}`,
          list([
            `question: ${question}`,
            `gold: ${goldenAnswers.join(" | ")}`,
            `answer: ${prediction ?? "none"}`,
            `${outcome}, ${count(turns, "turn")}, ${count(searches, "search", "searches")}`,
          ]),
          ...segments.map(({ source, text }) => {
            if (source === "policy") turn++;
            return `${source === "policy" ? `turn ${turn}, policy` : escapeMarkdown(source)}\n\n${fenced(shorten(text.trim()))}`;
          }),
        ];
      },
    ),
  ];
}

/** As it is, in a fence that nothing in it can close. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text.replace(invisible, "\u00b7")}\n${fence}`;
}

/** On one line, and none of it taken for markup: HTML, links, emphasis, cells of a table. */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(invisible, "\u00b7")
    .replace(/[\\`*_[\]<>|~&$]/g, "\\$&")
    .replace(/^(\s*)([#+\-=])(?=[\s#\-=]|$)/, "$1\\$2")
    .replace(/^(\s*\d+)([.)])(?=\s|$)/, "$1\\$2");
}
