import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { CheckpointError } from "../core/errors.ts";
import type { Arr, Params } from "./array.ts";
import { toBfloat16 } from "./half.ts";
import type { StoredDtype } from "./safetensors-header.ts";
import { storedBytes } from "./safetensors-header.ts";
import { sizeOf } from "./shapes.ts";

export interface WriteOptions {
  /** How float32 is stored. BF16 halves the file and rounds to nearest even; F32 is exact. */
  readonly floats?: "F32" | "BF16";
}

/**
 * Writes a safetensors file, whole or not at all. The same tensors and metadata give the same bytes whatever their
 * order: tensors lie sorted by name. Throws CheckpointError when the disk refuses.
 */
export function writeSafetensors(
  path: string,
  params: Params,
  metadata: Readonly<Record<string, string>> = {},
  options: WriteOptions = {},
): void {
  const names = Object.keys(params).sort();
  const entries: [string, unknown][] = [];
  const keys = Object.keys(metadata).sort();
  if (keys.length)
    entries.push(["__metadata__", Object.fromEntries(keys.map((key) => [key, metadata[key]]))]);
  let offset = 0;
  for (const name of names) {
    const arr = params[name] as Arr;
    if (name === "__metadata__" || arr.data.length !== sizeOf(arr.shape))
      throw new CheckpointError({
        what: `${name} cannot be stored`,
        where: path,
        got: `${arr.data.length} numbers`,
        expected: `[${arr.shape}]`,
      });
    const dtype = storedDtype(arr, options);
    const end = offset + arr.data.length * storedBytes[dtype];
    entries.push([name, { dtype, shape: arr.shape, data_offsets: [offset, end] }]);
    offset = end;
  }
  const pieces = function* (): Generator<Uint8Array> {
    yield headerBytes(entries);
    for (const name of names) yield numbers(params[name] as Arr, options);
  };
  writeWhole(path, pieces());
}

function storedDtype({ dtype }: Arr, { floats = "F32" }: WriteOptions): StoredDtype {
  if (dtype === "float32") return floats;
  return dtype === "int32" ? "I32" : "BOOL";
}

/** Length, then JSON padded with spaces so that the numbers start at a multiple of 8. */
function headerBytes(entries: readonly [string, unknown][]): Uint8Array {
  const json = Buffer.from(
    `{${entries.map(([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`)}}`,
  );
  const length = Math.ceil(json.length / 8) * 8;
  const bytes = Buffer.alloc(8 + length, " ");
  bytes.writeBigUInt64LE(BigInt(length));
  json.copy(bytes, 8);
  return bytes;
}

function numbers({ data, dtype }: Arr, { floats = "F32" }: WriteOptions): Uint8Array {
  const stored = dtype === "float32" && floats === "BF16" ? toBfloat16(data as Float32Array) : data;
  return new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength);
}

/** Piece by piece into a temporary file beside `path`, then renamed: a whole model is never in memory twice. */
function writeWhole(path: string, pieces: Iterable<Uint8Array>): void {
  const temporary = `${path}.${process.pid}.tmp`;
  const piece = 2 ** 30;
  let file: number | undefined;
  let made = false;
  try {
    mkdirSync(dirname(path), { recursive: true });
    file = openSync(temporary, "w");
    made = true;
    for (const bytes of pieces)
      for (let done = 0; done < bytes.length; )
        done += writeSync(file, bytes, done, Math.min(piece, bytes.length - done));
    fsyncSync(file);
    closeSync(file);
    file = undefined;
    renameSync(temporary, path);
  } catch (error) {
    if (file !== undefined) closeSync(file);
    if (made) rmSync(temporary, { force: true });
    throw new CheckpointError({
      what: "the weights cannot be written",
      where: path,
      got: (error as NodeJS.ErrnoException).code ?? String(error),
      next: "Check free space and permissions; nothing was left half-written.",
      cause: error,
    });
  }
}
