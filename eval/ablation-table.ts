import type { AblationDifference, AblationRow } from "./ablation.ts";
import { type Curve, showCurve } from "./ablation-curves.ts";
import { type Cells, markdownTable, textTable } from "./cells.ts";
import { tokenCount } from "./table-words.ts";

/** A key in which a cell's config is not the base's; undefined where one does not have it. */
export interface ConfigChange {
  readonly key: string;
  readonly base: string | undefined;
  readonly cell: string | undefined;
}

/** One cell: what it changes, and what its training sampled. */
export interface AblationCell {
  readonly name: string;
  readonly changes: readonly ConfigChange[];
  /** Tokens that the policy sampled in training: mean over the seeds that are done. Absent where cells are no runs. */
  readonly sampledTokens?: number;
}

export interface AblationReport {
  readonly name: string;
  readonly metric: string;
  /** Said of every claim: too few seeds, what is missing. */
  readonly notes: readonly string[];
  readonly cells: readonly AblationCell[];
  readonly rows: readonly AblationRow[];
  readonly failed: readonly { readonly cell: string; readonly seed: number; readonly error: string }[];
  readonly curves: readonly Curve[];
  /** Cells and seeds that are not done, of how many; absent where all are. */
  readonly unfinished?: { readonly n: number; readonly of: number };
}

/** The whole result for people. */
export function showAblation(report: AblationReport, markdown: boolean): string {
  const heading = (text: string) => (markdown ? `### ${text}` : text);
  const bullets = (lines: readonly string[]) =>
    lines.map((line) => (markdown ? `- ${line}` : `  ${line}`)).join("\n");
  const table = markdown ? markdownTable : textTable;
  const changed = report.cells.map(cellLine);
  const blocks = [
    markdown ? `## Ablation ${report.name}` : `Ablation ${report.name}`,
    ...(report.notes.length > 0 ? [bullets(report.notes)] : []),
    `${heading("Cells")}\n${markdown ? "\n" : ""}${bullets(changed)}`,
    table(ablationCells(report)),
    ...scorerNotes(report.rows).map((line) => bullets([line])),
    ...(report.failed.length > 0
      ? [
          `${heading("Failed")}\n${markdown ? "\n" : ""}${bullets(
            report.failed.map(({ cell, seed, error }) => `${cell}, seed ${seed}: ${error}`),
          )}`,
        ]
      : []),
    ...report.curves.map((curve) => showCurve(curve, markdown)),
  ];
  return blocks.join("\n\n");
}

/** A row for each cell, benchmark and mode. */
export function ablationCells({
  rows,
  metric,
  cells,
}: Pick<AblationReport, "rows" | "metric" | "cells">): Cells {
  const counted = cells.some(({ sampledTokens }) => sampledTokens !== undefined);
  return [
    [
      ...["cell", "benchmark", "seeds", "questions", metric, "by seed", "against base", "95 %"],
      ...["p", "p (Holm)", "verdict", ...(counted ? ["sampled tokens"] : [])],
    ],
    ...rows.map((row) => [
      ...[row.cell, `${row.benchmark}, ${row.mode}`, `${row.seeds.length}`, `${row.questions}`],
      ...[decimal(row.mean), row.means.map(decimal).join(" ")],
      ...differenceCells(row.against),
      ...(counted ? [tokensOfCell(cells, row.cell)] : []),
    ]),
  ];
}

/** "812 k": what a cell's training sampled. */
export function tokensOfCell(cells: readonly AblationCell[], name: string): string {
  const tokens = cells.find((cell) => cell.name === name)?.sampledTokens;
  return tokens === undefined ? "–" : tokenCount(tokens);
}

function differenceCells(against: AblationDifference | undefined): string[] {
  if (!against) return ["–", "–", "–", "–", "–"];
  const { difference, low, high, p, adjustedP, verdict } = against;
  return [
    signed(difference),
    low === high ? "–" : `[${decimal(low)}, ${decimal(high)}]`,
    ...[p, adjustedP].map((each) => (each < 0.0001 ? "< 0.0001" : each.toFixed(4))),
    verdict,
  ];
}

/** Of every cell that is scored otherwise than the base. */
export const scorerNotes = (rows: readonly AblationRow[]) => [
  ...new Set(
    rows.flatMap(({ cell, against }) =>
      against && against.scorer.length > 0
        ? [
            `${cell} is scored otherwise (${against.scorer.join(", ")}): its difference is not the policy's alone`,
          ]
        : [],
    ),
  ),
];

/** A cell with the exact difference of its config. */
export const cellLine = ({ name, changes }: AblationReport["cells"][number]): string =>
  `${name}: ${changes.length === 0 ? "the base" : changes.map(changeText).join("; ")}`;

export const changeText = ({ key, base, cell }: ConfigChange) =>
  `${key} ${base ?? "(default)"} → ${cell ?? "(default)"}`;
const decimal = (value: number) =>
  (Math.abs(value) >= 100 ? value.toFixed(1) : value.toFixed(3)).replace("-", "−");
const signed = (value: number) => (value < 0 ? decimal(value) : `+${decimal(value)}`);

/** Where two configs differ, key by key; a list is one value, and so is a section that the cell does not have. */
export function configChanges(base: unknown, cell: unknown, path = ""): ConfigChange[] {
  const below = (key: string) => (path === "" ? key : `${path}.${key}`);
  if (isMap(base) && cell === undefined && path !== "") return [{ key: path, base: "{…}", cell: undefined }];
  if (isMap(base) || isMap(cell)) {
    const [a, b] = [mapOf(base), mapOf(cell)];
    const own = isMap(base) && isMap(cell) ? [] : leafChange(path, base, cell);
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
    return [...own, ...keys.flatMap((key) => configChanges(a[key], b[key], below(key)))];
  }
  return leafChange(path, base, cell);
}

/** Of two values neither of which is a map, or one of them. */
function leafChange(key: string, base: unknown, cell: unknown): ConfigChange[] {
  const [a, b] = [base, cell].map((value) => (isMap(value) ? undefined : JSON.stringify(value)));
  return a === b ? [] : [{ key, base: a, cell: b }];
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const mapOf = (value: unknown) => (isMap(value) ? value : {});
