import type { AblationRow } from "../ablation.ts";
import { changeText, scorerNotes, tokensOfCell } from "../ablation-table.ts";
import { findings } from "../search-value-table.ts";
import type { Estimate } from "../statistics.ts";
import type { Rate } from "../wilson.ts";
import { compact, decimal, percent, signed } from "./format.ts";
import type { IntervalRow } from "./interval-chart.ts";
import type { MeasuredSearch, Report } from "./report.ts";
import { type Cell, cell, type Table } from "./tables.ts";

/** A chart of intervals: of rates on an axis from 0 to 1, or of differences on an axis that shows 0. */
export interface ResultChart {
  readonly title: string;
  readonly names: readonly string[];
  readonly rows: readonly IntervalRow[];
  readonly differences: boolean;
  /** What is shown, for who does not see it. */
  readonly what: string;
}

/** What an ablation, or search's value, comes to on one benchmark in one mode. */
export interface Result {
  readonly chart?: ResultChart;
  readonly table: Table;
  readonly notes: readonly string[];
}

/** Name of their section. */
export const resultTitle = ({ kind }: Report): string =>
  kind === "ablation" ? "Against the base" : "What search is worth";

export const resultsOf = (report: Report): Result[] => [...ablationResults(report), ...searchResults(report)];

function ablationResults({ ablation }: Report): Result[] {
  if (!ablation) return [];
  const { rows, metric, cells } = ablation;
  const counted = cells.some(({ sampledTokens }) => sampledTokens !== undefined);
  const kinds = [...new Set(rows.map(({ benchmark, mode }) => `${benchmark}, ${mode}`))];
  return kinds.map((kind): Result => {
    const own = rows.filter(({ benchmark, mode }) => `${benchmark}, ${mode}` === kind);
    const compared = own.flatMap(({ cell: label, against }) => (against ? [{ label, against }] : []));
    return {
      ...(compared.length > 0
        ? {
            chart: {
              title: `${kind}: difference of ${metric} from the base`,
              names: ["cell minus base"],
              rows: compared.map(({ label, against: { difference: em, low, high, questions: n } }) => ({
                label,
                rates: [{ em, low, high, n }],
              })),
              differences: true,
              what: `the difference of ${metric} from the base by cell`,
            },
          }
        : {}),
      table: {
        caption: `${kind}: ${metric} by cell`,
        // What is claimed comes first: a phone shows four columns.
        head: [
          ...["cell", metric, "against base", "verdict", "p (Holm)", "p", "by seed", "seeds", "questions"],
          ...(counted ? ["sampled tokens"] : []),
        ],
        rows: own.map((row) => [...rowOf(row), ...(counted ? [cell(tokensOfCell(cells, row.cell))] : [])]),
      },
      notes: scorerNotes(own).map((line) => `${line}.`),
    };
  });
}

function rowOf({ cell: name, seeds, questions, mean, means, against }: AblationRow): Cell[] {
  return [
    ...[cell(name), cell(compact(mean))],
    ...(against
      ? [
          cell(signed(against.difference), against.low === against.high ? undefined : range(against)),
          cell(against.verdict),
          ...[against.adjustedP, against.p].map((p) => cell(probability(p))),
        ]
      : [cell("–"), cell("base"), cell("–"), cell("–")]),
    ...[means.map(compact).join(" "), `${seeds.length}`, `${questions}`].map((text) => cell(text)),
  ];
}

/** Each cell and what it changes; what failed. */
export function cellTables({ ablation }: Report): Table[] {
  if (!ablation) return [];
  const cells: Table = {
    caption: "What each cell changes in the base's config",
    head: ["cell", "change"],
    rows: ablation.cells.map(({ name, changes }) => [
      cell(name),
      cell(changes.length === 0 ? "nothing: the base" : changes.map(changeText).join("; ")),
    ]),
  };
  if (ablation.failed.length === 0) return [cells];
  const failed: Table = {
    caption: "Failed",
    head: ["cell", "error", "seed"],
    rows: ablation.failed.map((each) => [cell(each.cell), cell(each.error), cell(`${each.seed}`)]),
  };
  return [cells, failed];
}

const searchResults = ({ searchValue = [] }: Report): Result[] =>
  searchValue.map(({ title, value }) => ({
    chart: {
      title,
      names: ["exact match"],
      rows: value.rows.map(({ name, em }) => ({ label: name, rates: [rateOf(em)] })),
      differences: false,
      what: "exact match by what answers the searches",
    },
    table: {
      caption: `${title}: the same policy, its searches answered otherwise`,
      head: [
        ...["searches answered by", "questions", "EM", "against engine", "p (Holm)"],
        ...["searches", "turns", "no search", "gold seen", "no answer in time"],
      ],
      rows: value.rows.map(conditionRow),
    },
    notes: findings(value).map((line) => `${line[0]?.toUpperCase()}${line.slice(1)}.`),
  }));

function conditionRow({ name, em, difference, ...row }: MeasuredSearch["value"]["rows"][number]): Cell[] {
  return [
    ...[cell(name), cell(`${em.n}`), cell(decimal(em.mean), range(em))],
    ...(difference
      ? [
          cell(signed(difference.difference), difference.interval === "none" ? undefined : range(difference)),
          cell(probability(difference.adjustedP)),
        ]
      : [cell("–"), cell("–")]),
    ...[row.searches.toFixed(2), row.turns.toFixed(2), whole(row.noSearch)].map((text) => cell(text)),
    ...[row.recall === null ? "–" : whole(row.recall), whole(row.stopped)].map((text) => cell(text)),
  ];
}

/** A share that no line break divides. */
const whole = (share: number) => percent(share).replace(" ", "\u00a0");

export const rateOf = ({ mean: em, low, high, n }: Estimate): Rate => ({ em, low, high, n });

const range = ({ low, high }: { readonly low: number; readonly high: number }) =>
  `[${decimal(low)}, ${decimal(high)}]`.replaceAll("-", "−");
export const probability = (p: number): string => (p < 0.0001 ? "<\u00a00.0001" : p.toFixed(4));
