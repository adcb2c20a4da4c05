import { createReadStream, existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { RecordBatchReader } from "apache-arrow";
import { DataError } from "../core/errors.ts";
import type { Json } from "./dialects.ts";
import { openRows, type Row } from "./row-file.ts";

/**
 * Reads records one after the other, whole: what `openRows` reads, and Arrow IPC (file or stream), told by how the file
 * begins. Lists are arrays, integers numbers. @throws DataError for a missing file or one that is damaged
 */
export async function* readRecords(path: string): AsyncGenerator<Row> {
  if (await isArrow(path)) yield* readArrow(path);
  else {
    const rows = await openRows(path);
    yield* rows.read(rows.columns ?? []);
  }
}

/** An Arrow file begins with ARROW1, a stream with four bytes of 255. */
async function isArrow(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  try {
    const file = await open(path);
    try {
      const { buffer } = await file.read(Buffer.alloc(6), 0, 6, 0);
      return buffer.toString("latin1") === "ARROW1" || buffer.readUInt32LE(0) === 0xffffffff;
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new DataError({ what: "cannot read the file", where: path, got: (cause as Error).message, cause });
  }
}

async function* readArrow(path: string): AsyncGenerator<Row> {
  const stream = createReadStream(path);
  let row = 0;
  try {
    for await (const batch of await RecordBatchReader.from(stream))
      for (const each of batch) {
        row++;
        yield { value: plain(each) as Json, row, where: `${path}: row ${row}` };
      }
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError({
      what: "cannot read the Arrow file",
      where: path,
      got: (cause as Error).message,
      next: "Is it whole? Copy or write it again.",
      cause,
    });
  } finally {
    stream.destroy();
  }
}

/** Arrow's values as JSON has them. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>, plain);
  if ("toArray" in value) return Array.from((value as { toArray(): ArrayLike<unknown> }).toArray(), plain);
  const own = "toJSON" in value ? (value as { toJSON(): object }).toJSON() : value;
  return Object.fromEntries(Object.entries(own).map(([key, each]) => [key, plain(each)]));
}
