import { existsSync } from "node:fs";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { asyncBufferFromFile, type FileMetaData, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { DataError } from "../core/errors.ts";
import type { Json } from "./dialects.ts";

/** Snappy and no compression are hyparquet's own; these are Node's. */
const compressors = {
  GZIP: (bytes: Uint8Array) => gunzipSync(bytes),
  BROTLI: (bytes: Uint8Array) => brotliDecompressSync(bytes),
};
const codecs = ["UNCOMPRESSED", "SNAPPY", ...Object.keys(compressors)];

export interface ParquetFile {
  readonly rows: number;
  /** Names of the top-level columns, in the file's order. */
  readonly columns: readonly string[];
  /** The rows in order, with the wanted columns that the file has; one row group is in memory at a time. */
  read(wanted: readonly string[]): AsyncGenerator<Json>;
}

/** Opens a Parquet file. @throws DataError for a file that is missing, empty, cut off, or compressed in another way */
export async function openParquet(path: string): Promise<ParquetFile> {
  if (!existsSync(path))
    throw new DataError({ what: "file not found", where: path, next: "Check the path." });
  const file = await asyncBufferFromFile(path).catch((cause: unknown) => fail(path, cause));
  const metadata = await parquetMetadataAsync(file).catch((cause: unknown) => fail(path, cause));
  const columns = columnsOf(metadata);
  return {
    rows: Number(metadata.num_rows),
    columns,
    async *read(wanted) {
      const chosen = columns.filter((name) => wanted.includes(name));
      checkCodecs(path, metadata, chosen);
      let rowStart = 0;
      for (const group of metadata.row_groups) {
        const rowEnd = rowStart + Number(group.num_rows);
        const part = { file, metadata, columns: chosen, compressors, rowStart, rowEnd };
        const rows = await parquetReadObjects(part).catch((cause: unknown) => fail(path, cause));
        for (const row of rows) yield plainValue(row) as Json;
        rowStart = rowEnd;
      }
    },
  };
}

/** The schema is a depth-first list with its root first: children are skipped by their counts. */
function columnsOf({ schema }: FileMetaData): string[] {
  const names: string[] = [];
  let at = 1;
  const skip = () => {
    let open = 1;
    while (open > 0) open += (schema[at++]?.num_children ?? 0) - 1;
  };
  while (at < schema.length) {
    names.push(schema[at]?.name as string);
    skip();
  }
  return names;
}

function checkCodecs(path: string, metadata: FileMetaData, chosen: readonly string[]): void {
  for (const { columns } of metadata.row_groups)
    for (const { meta_data: column } of columns) {
      if (!column || !chosen.includes(column.path_in_schema[0] as string)) continue;
      if (!codecs.includes(column.codec))
        throw new DataError({
          what: "the Parquet file is compressed in a way that is not read here",
          where: path,
          got: `${column.codec} in column ${column.path_in_schema[0]}`,
          expected: codecs.join(", "),
          next: 'Write it again with compression="snappy".',
        });
    }
}

/** JSON's types only: 64-bit integers as numbers where a number holds them, else as texts; dates as ISO 8601. */
function plainValue(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, plainValue);
  if (Array.isArray(value)) return value.map(plainValue);
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plainValue(field)]));
}

function fail(path: string, cause: unknown): never {
  throw new DataError({
    what: "cannot read the Parquet file",
    where: path,
    got: cause instanceof Error ? cause.message : String(cause),
    next: "Is it whole? Copy or write it again.",
    cause,
  });
}
