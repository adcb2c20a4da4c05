import { fstatSync, readSync } from "node:fs";
import { CheckpointError } from "../core/errors.ts";
import { sizeOf } from "./shapes.ts";

/** Bytes per element of the dtypes that the format knows and we read. */
export const storedBytes = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, BOOL: 1 } as const;
export type StoredDtype = keyof typeof storedBytes;

export interface StoredTensor {
  readonly dtype: StoredDtype;
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly begin: number;
  readonly end: number;
}

export interface Header {
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

const PREFIX = 8;
/** The reference implementation's own limit on a header. */
const MAX_HEADER = 100_000_000;
const DAMAGED = "Copy or download the file again: it is cut short or not a safetensors file.";

/**
 * Reads and checks the header of an open safetensors file: 8 bytes of length, JSON, then the numbers without gaps.
 * Throws CheckpointError for anything that is not so.
 */
export function readHeader(file: number, path: string): Header {
  const { size } = fstatSync(file);
  if (size < PREFIX) throw damaged(path, "no header", `${size} bytes`, "at least 8 bytes");
  const length = Number(readBytes(file, path, 0, PREFIX).readBigUInt64LE());
  if (length > MAX_HEADER || PREFIX + length > size)
    throw damaged(path, "the header is cut short", `a file of ${size} bytes`, `a header of ${length} bytes`);
  const start = PREFIX + length;
  const entries = parse(readBytes(file, path, PREFIX, length).toString("utf8"), path);
  const tensors = new Map<string, StoredTensor>();
  let metadata: Record<string, string> = {};
  for (const [name, entry] of Object.entries(entries)) {
    if (name === "__metadata__") metadata = metadataOf(entry, path);
    else tensors.set(name, tensorOf(name, entry, path, start));
  }
  checkLayout(tensors, { path, start, size });
  return { tensors, metadata };
}

/** Exactly `length` bytes from `position`. */
export function readBytes(file: number, path: string, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readInto(file, path, position, bytes);
  return bytes;
}

/** Fills `bytes` from `position`, in pieces that one system call can carry. */
export function readInto(file: number, path: string, position: number, bytes: Uint8Array): void {
  const piece = 2 ** 30;
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(file, bytes, done, Math.min(piece, bytes.length - done), position + done);
    if (count === 0)
      throw damaged(
        path,
        "the file ends early",
        `${position + done} bytes`,
        `${position + bytes.length} bytes`,
      );
    done += count;
  }
}

function parse(text: string, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damaged(path, "the header is not JSON", (error as Error).message, "a JSON object");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw damaged(path, "the header is not an object", JSON.stringify(value).slice(0, 40), "a JSON object");
  return value as Record<string, unknown>;
}

function metadataOf(entry: unknown, path: string): Record<string, string> {
  const fine =
    typeof entry === "object" && entry !== null && Object.values(entry).every((v) => typeof v === "string");
  if (!fine)
    throw damaged(path, "__metadata__ is malformed", JSON.stringify(entry).slice(0, 80), "strings by name");
  return entry as Record<string, string>;
}

const isCount = (x: unknown): x is number => Number.isSafeInteger(x) && (x as number) >= 0;

function tensorOf(name: string, entry: unknown, path: string, start: number): StoredTensor {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>;
  const wellFormed =
    typeof dtype === "string" &&
    Array.isArray(shape) &&
    shape.every(isCount) &&
    Array.isArray(offsets) &&
    offsets.length === 2 &&
    offsets.every(isCount);
  if (!wellFormed)
    throw damaged(
      path,
      `the entry of ${name} is malformed`,
      JSON.stringify(entry)?.slice(0, 80) ?? "nothing",
      "dtype, shape, data_offsets",
    );
  if (!Object.hasOwn(storedBytes, dtype))
    throw new CheckpointError({
      what: `${name} has a dtype we do not read`,
      where: path,
      got: dtype,
      expected: Object.keys(storedBytes).join(", "),
      next: "Convert the checkpoint to BF16 or F32 first (quantised weights cannot be trained).",
    });
  const [begin, end] = offsets as [number, number];
  const bytes = sizeOf(shape) * storedBytes[dtype as StoredDtype];
  if (end - begin !== bytes)
    throw damaged(
      path,
      `the byte range of ${name} does not fit its shape`,
      `${end - begin} bytes`,
      `${bytes} bytes for ${dtype} [${shape}]`,
    );
  return { dtype: dtype as StoredDtype, shape, begin: start + begin, end: start + end };
}

/** Tensors follow each other without gap or overlap and end where the file ends. */
function checkLayout(
  tensors: ReadonlyMap<string, StoredTensor>,
  at: { path: string; start: number; size: number },
): void {
  let next = at.start;
  for (const [name, { begin, end }] of [...tensors].sort(
    ([, a], [, b]) => a.begin - b.begin || a.end - b.end,
  )) {
    if (begin !== next)
      throw damaged(
        at.path,
        `the numbers of ${name} overlap or leave a gap`,
        `byte ${begin}`,
        `byte ${next}`,
      );
    next = end;
  }
  if (next === at.size) return;
  throw damaged(
    at.path,
    next > at.size ? "the file is cut short" : "bytes are left over at the end",
    `${at.size} bytes`,
    `${next} bytes`,
  );
}

function damaged(where: string, what: string, got: string, expected: string): CheckpointError {
  return new CheckpointError({ what, where, got, expected, next: DAMAGED });
}
