import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../../core/files.ts";

/** Writes JSON Lines row by row, under a temporary name until `finish`; `abort` leaves nothing. */
export function jsonlWriter(path: string): {
  write(row: Readonly<Record<string, unknown>>): void;
  finish(): void;
  abort(): void;
} {
  makeFolder(dirname(path));
  const temporary = `${path}.${process.pid}.tmp`;
  const file = openSync(temporary, "w");
  let waiting: string[] = [];
  let size = 0;
  const flush = () => {
    const bytes = Buffer.from(waiting.join(""));
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(file, bytes, offset);
    waiting = [];
    size = 0;
  };
  return {
    write(row) {
      const line = `${JSON.stringify(row)}\n`;
      waiting.push(line);
      size += line.length;
      if (size > 1 << 20) flush();
    },
    finish() {
      flush();
      fsyncSync(file);
      closeSync(file);
      renameSync(temporary, path);
    },
    abort() {
      closeSync(file);
      rmSync(temporary, { force: true });
    },
  };
}
