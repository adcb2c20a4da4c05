import { lineFile } from "../../core/line-file.ts";

/** Writes JSON Lines row by row, under a temporary name until `finish`; `abort` leaves nothing. */
export function jsonlWriter(path: string): {
  write(row: Readonly<Record<string, unknown>>): void;
  finish(): void;
  abort(): void;
} {
  const { write, finish, abort } = lineFile(path);
  return { write: (row) => write(`${JSON.stringify(row)}\n`), finish, abort };
}
