import type { AblationDifference, AblationRow } from "./ablation.ts";
import { type Curve, showCurve } from "./ablation-curves.ts";
import { type Cells, markdownTable, textTable } from "./cells.ts";

/** A key in which a cell's config is not the base's; undefined where one does not have it. */
export interface ConfigChange {
  readonly key: string;
  readonly base: string | undefined;
  readonly cell: string | undefined;
}

export interface AblationReport {
  readonly name: string;
  readonly metric: string;
  /** Said of every claim: too few seeds, what is missing. */
  readonly notes: readonly string[];
  readonly cells: readonly { readonly name: string; readonly changes: readonly ConfigChange[] }[];
  readonly rows: readonly AblationRow[];
  readonly failed: readonly { readonly cell: string; readonly seed: number; readonly error: string }[];
  readonly curves: readonly Curve[];
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
export const ablationCells = ({ rows, metric }: Pick<AblationReport, "rows" | "metric">): Cells => [
  ["cell", "benchmark", "seeds", "questions", metric, "by seed", "against base", "95 %"].concat([
    "p",
    "p (Holm)",
    "verdict",
  ]),
  ...rows.map((row) => [
    ...[row.cell, `${row.benchmark}, ${row.mode}`, `${row.seeds.length}`, `${row.questions}`],
    ...[decimal(row.mean), row.means.map(decimal).join(" ")],
    ...differenceCells(row.against),
  ]),
];

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

const scorerNotes = (rows: readonly AblationRow[]) => [
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

const changeText = ({ key, base, cell }: ConfigChange) =>
  `${key} ${base ?? "(default)"} → ${cell ?? "(default)"}`;
const decimal = (value: number) =>
  (Math.abs(value) >= 100 ? value.toFixed(1) : value.toFixed(3)).replace("-", "−");
const signed = (value: number) => (value < 0 ? decimal(value) : `+${decimal(value)}`);

/** Where two configs differ, key by key; a list is one value. */
export function configChanges(base: unknown, cell: unknown): ConfigChange[] {
  const [a, b] = [leaves(base, ""), leaves(cell, "")];
  return [...new Set([...a.keys(), ...b.keys()])]
    .filter((key) => a.get(key) !== b.get(key))
    .map((key) => ({ key, base: a.get(key), cell: b.get(key) }));
}

function leaves(value: unknown, path: string): Map<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return new Map([[path, JSON.stringify(value)]]);
  return new Map(
    Object.entries(value).flatMap(([key, below]) =>
      below === undefined ? [] : [...leaves(below, path === "" ? key : `${path}.${key}`)],
    ),
  );
}
