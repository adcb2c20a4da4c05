import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { DataError } from "../core/errors.ts";
import { makeFolder, writeFileAtomic } from "../core/files.ts";
import { type EvalRecord, evalRecord } from "./record.ts";

/**
 * Reads records back. A torn last line (a killed run) is dropped and counted; anything wrong before it is an error.
 * @throws DataError naming file:line.
 */
export function readRecords(path: string): { readonly records: EvalRecord[]; readonly torn: boolean } {
  if (!existsSync(path)) return { records: [], torn: false };
  const lines = readFileSync(path, "utf8").split("\n");
  // What follows the last line break is nothing, or a line that was being written.
  const torn = lines.pop() !== "";
  const records = lines.map((line, i) => parse(line, `${path}:${i + 1}`));
  return { records, torn };
}

function parse(line: string, where: string): EvalRecord {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch (cause) {
    throw damaged(where, line, cause);
  }
  const parsed = evalRecord.safeParse(json);
  if (parsed.success) return parsed.data;
  throw damaged(where, line, parsed.error);
}

function damaged(where: string, line: string, cause: unknown): DataError {
  return new DataError({
    what: "an evaluation record is damaged",
    where,
    got: line.length > 120 ? `${line.slice(0, 117)}...` : line,
    next: "Delete the file to evaluate again from the start.",
    cause,
  });
}

/** Appends records and waits until they are on disk. */
export function appendRecords(path: string, records: readonly EvalRecord[]): void {
  makeFolder(dirname(path));
  const bytes = Buffer.from(encode(records));
  const file = openSync(path, "a");
  try {
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(file, bytes, offset);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Replaces the whole file. */
export function writeRecords(path: string, records: readonly EvalRecord[]): void {
  writeFileAtomic(path, encode(records));
}

const encode = (records: readonly EvalRecord[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");
