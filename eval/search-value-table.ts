import { type Cells, markdownTable, textTable } from "./cells.ts";
import type { SearchValue, SearchValueRow } from "./search-value.ts";
import type { Estimate } from "./statistics.ts";

/** The table, and below it what the policy does with its searches, for people. */
export function showSearchValue(title: string, value: SearchValue, markdown: boolean): string {
  const table = markdown ? markdownTable : textTable;
  const blocks = [
    markdown ? `### ${title}` : title,
    table(searchValueCells(value)),
    table([
      ["searches made", "questions", "EM [95 %]"],
      ...value.bySearches.map((each) => [`${each.searches}`, `${each.n}`, rate(each)]),
    ]),
    findings(value)
      .map((line) => (markdown ? `- ${line}` : line))
      .join("\n"),
  ];
  return blocks.join("\n\n");
}

/** A row a condition; the reference last. */
export const searchValueCells = ({ rows }: SearchValue): Cells => [
  ["searches answered by", "questions", "EM [95 %]", "against engine", "95 %", "p (Holm)"].concat([
    "searches",
    "turns",
    "no search",
    "gold seen",
    "no answer in time",
  ]),
  ...rows.map(row),
];

function row({ name, em, difference, ...rest }: SearchValueRow): string[] {
  return [
    ...[name, `${em.n}`, rate(em)],
    ...(difference
      ? [
          signed(difference.difference),
          difference.interval === "none" ? "–" : range(difference),
          difference.adjustedP < 0.0001 ? "< 0.0001" : difference.adjustedP.toFixed(4),
        ]
      : ["–", "–", "–"]),
    ...[rest.searches.toFixed(2), rest.turns.toFixed(2), percent(rest.noSearch)],
    ...[rest.recall === null ? "–" : percent(rest.recall), percent(rest.stopped)],
  ];
}

/** Over- and under-search, in sentences. */
export function findings({ overSearch, underSearch, withoutEvidence }: SearchValue): string[] {
  const of = (estimate: Estimate) =>
    `${percent(estimate.mean)} of the questions [${percent(estimate.low)}, ${percent(estimate.high)}]`;
  return [
    ...(overSearch
      ? [`over-search: ${of(overSearch)}: right with fewer answered searches than it made`]
      : []),
    `under-search: ${of(underSearch)}: answered wrongly with searches left and evidence not seen`,
    ...(withoutEvidence ? [`right though nothing was found: ${of(withoutEvidence)}`] : []),
  ];
}

const decimal = (value: number) => value.toFixed(3).replace("-", "−");
const signed = (value: number) => (value < 0 ? decimal(value) : `+${decimal(value)}`);
const range = ({ low, high }: { readonly low: number; readonly high: number }) =>
  `[${decimal(low)}, ${decimal(high)}]`;
const rate = (estimate: Estimate) => `${decimal(estimate.mean)} ${range(estimate)}`;
const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
