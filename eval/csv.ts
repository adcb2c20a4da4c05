/** A table as RFC 4180 CSV; the first row is the head. Empty where a cell is undefined. */
export function csvTable(rows: readonly (readonly (string | number | undefined)[])[]): string {
  return rows.map((cells) => `${cells.map(field).join(",")}\r\n`).join("");
}

/** Quoted where it must be; a text that a spreadsheet would take for a formula begins with an apostrophe. */
function field(value: string | number | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
