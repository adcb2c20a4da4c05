import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { z } from "zod";
import { DataError } from "../core/errors.ts";
import { readChunks, readJsonl } from "../core/jsonl.ts";
import type { Json } from "./dialects.ts";
import { arrayElements } from "./json-array.ts";
import { openParquet } from "./parquet.ts";
import { openSeparated, type SeparatedKind, separators } from "./separated.ts";

export interface Row {
  readonly value: Json;
  /** 1-based: the line of a JSONL, CSV or TSV file, the row of a Parquet file, the element of a JSON array. */
  readonly row: number;
  /** For messages: "dev.jsonl:7", "test.parquet: row 7", "hotpot.json: record 7". */
  readonly where: string;
}

export interface RowFile {
  /** Names a place in the file. */
  readonly place: (row: number) => string;
  readonly unit: "line" | "row" | "record";
  /** What the file says of all its rows before any is read: Parquet's columns, the header of CSV and TSV. */
  readonly columns?: readonly string[];
  /** @param wanted fields that will be looked at; a columnar file reads no others */
  read(wanted: readonly string[]): AsyncGenerator<Row>;
}

export type FileKind = "jsonl" | "parquet" | SeparatedKind;

const object = z.record(z.string(), z.unknown(), { error: "a JSON object" });

/**
 * Opens a file of records with bounded memory: JSON Lines, one JSON array (alone or under `Data`, as TriviaQA has it),
 * comma- or tab-separated values, any of them gzipped, or Parquet.
 * @param kind what the config calls it; absent: whatever the file is, CSV and TSV by their names
 * @throws DataError for a missing file, or one of another kind
 */
export async function openRows(path: string, kind?: FileKind): Promise<RowFile> {
  if (!existsSync(path))
    throw new DataError({
      what: "file not found",
      where: path,
      next: "Check the path: in a YAML file it is relative to that file, elsewhere to the working directory.",
    });
  const first = await firstBytes(path, 4);
  if (first === "" && kind === "parquet")
    throw new DataError({ what: "the file is empty", where: path, next: "Copy or write it again." });
  const found = kindOf(path, first, kind);
  if (kind !== undefined && kind !== found)
    throw new DataError({
      what:
        found === "parquet" || kind === "jsonl"
          ? `this is a ${titles[found]} file`
          : `this is no ${titles[kind]} file`,
      where: path,
      next: `Write \`kind: ${found}\` for it.`,
    });
  if (found === "parquet") return parquetRows(path);
  if (found !== "jsonl") return separatedRows(path, found);
  const start = /\.(jsonl|ndjson)(\.gz)?$/.test(path) ? undefined : await arrayStart(path);
  return start === undefined ? lineRows(path) : arrayRows(path, start);
}

const titles = { jsonl: "JSON", parquet: "Parquet", csv: "CSV", tsv: "TSV" } as const;

/** What a file is by its first bytes; only separated values are told by name, unless the config names them. */
function kindOf(path: string, first: string, said: FileKind | undefined): FileKind {
  if (first === "PAR1") return "parquet";
  const named = /\.(csv|tsv)(\.gz)?$/i.exec(path)?.[1]?.toLowerCase() as SeparatedKind | undefined;
  if (/^(\xef\xbb\xbf)?[{[]/.test(first)) return "jsonl";
  return said !== undefined && said in separators ? said : (named ?? "jsonl");
}

async function separatedRows(path: string, kind: SeparatedKind): Promise<RowFile> {
  const file = await openSeparated(path, kind);
  const place = (row: number) => `${path}:${row}`;
  return {
    place,
    unit: "line",
    columns: file.columns,
    async *read() {
      for await (const { value, line } of file.read()) yield { value, row: line, where: place(line) };
    },
  };
}

function lineRows(path: string): RowFile {
  const place = (row: number) => `${path}:${row}`;
  return {
    place,
    unit: "line",
    async *read() {
      for await (const { value, line } of readJsonl(path, object))
        yield { value, row: line, where: place(line) };
    },
  };
}

function arrayRows(path: string, start: number): RowFile {
  const place = (row: number) => `${path}: record ${row}`;
  return {
    place,
    unit: "record",
    async *read() {
      let row = 0;
      for await (const text of arrayElements(path, start)) {
        row++;
        yield { value: parseElement(text, place(row)), row, where: place(row) };
      }
    },
  };
}

async function parquetRows(path: string): Promise<RowFile> {
  const file = await openParquet(path);
  const place = (row: number) => `${path}: row ${row}`;
  return {
    place,
    unit: "row",
    columns: file.columns,
    async *read(wanted) {
      let row = 0;
      for await (const value of file.read(wanted)) {
        row++;
        yield { value, row, where: place(row) };
      }
    },
  };
}

function parseElement(text: string, where: string): Json {
  const got = text.length > 120 ? `${text.slice(0, 117)}...` : text;
  const complaint = { where, got, expected: "a JSON object", next: "Mend this record, or leave it out." };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new DataError({ what: "malformed JSON", ...complaint, cause });
  }
  const parsed = object.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new DataError({ what: "this record is no object", ...complaint });
}

async function firstBytes(path: string, n: number): Promise<string> {
  try {
    const file = await open(path);
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(n), 0, n, 0);
      return buffer.toString("latin1", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new DataError({ what: "cannot read the file", where: path, got: (cause as Error).message, cause });
  }
}

/** Scalars may stand before TriviaQA's and SQuAD's array. */
const wrapped = /^\s*\{(?:\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-+.\w]+)\s*,)*\s*"data"\s*:\s*(?=\[)/i;

/** Bytes before the "[" of the file's array of records; undefined when there is none near its start. */
async function arrayStart(path: string): Promise<number | undefined> {
  for await (const chunk of readChunks(path)) {
    const text = chunk.toString("latin1"); // a byte is a character: lengths are bytes
    const head = /^(?:\xef\xbb\xbf)?\s*(?=\[)/.exec(text) ?? wrapped.exec(text);
    return head?.[0].length;
  }
  return undefined;
}
