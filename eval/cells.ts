/** A table as rows of cells; the first row is the head. */
export type Cells = readonly (readonly string[])[];

/** Fixed width: the first column to the left, the others to the right, two spaces between. */
export function textTable(rows: Cells): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => (cells[column] ?? "").length)),
  );
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0] as number) : cell.padStart(widths[column] as number);
  return rows.map((cells) => cells.map(pad).join("  ").trimEnd()).join("\n");
}

/** GitHub's Markdown, with the same alignment. A cell's own bars and line breaks cannot break the table. */
export function markdownTable(rows: Cells): string {
  const [head, ...body] = rows.map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`,
  );
  const rule = (rows[0] ?? []).map((_, column) => (column === 0 ? ":--" : "--:"));
  return [head, `| ${rule.join(" | ")} |`, ...body].join("\n");
}
