/** A table as RFC 4180 CSV; the first row is the head. Empty where a cell is undefined. */
export function csvTable(rows: readonly (readonly (string | number | undefined)[])[]): string {
  return rows.map((cells) => `${cells.map((cell) => csvField(known(cell))).join(",")}\r\n`).join("");
}

const known = (cell: string | number | undefined) =>
  typeof cell === "number" && !Number.isFinite(cell) ? undefined : cell;

/** Quoted where it must be; a text that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvField(value: string | number | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
