import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "./files.ts";

export interface LineFile {
  /** Text with its line end. */
  write(line: string): void;
  finish(): void;
  /** Leaves nothing. */
  abort(): void;
}

/** Characters that wait before they are written. */
const most = 1 << 20;

/** A text file written line by line, under a temporary name until `finish`. */
export function lineFile(path: string): LineFile {
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
    write(line) {
      waiting.push(line);
      size += line.length;
      if (size > most) flush();
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
