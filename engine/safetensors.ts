import { closeSync, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { CheckpointError } from "../core/errors.ts";
import type { Arr, Params } from "./array.ts";
import { fromBfloat16, fromFloat16 } from "./half.ts";
import {
  type Header,
  readBytes,
  readHeader,
  readInto,
  type StoredTensor,
  storedBytes,
} from "./safetensors-header.ts";
import { sizeOf } from "./shapes.ts";

export { type WriteOptions, writeSafetensors } from "./safetensors-write.ts";

const SINGLE = "model.safetensors";
const INDEX = "model.safetensors.index.json";
/** Elements converted at a time, so that a big 16-bit tensor is never in memory twice. */
const PIECE = 1 << 22;

/** The tensors of one file or of all shards of a folder. Nothing but headers is read until `read`. */
export interface Tensors {
  /** In the order of the files and, within one, of the numbers. */
  readonly names: readonly string[];
  /** Of the first file. */
  readonly metadata: Readonly<Record<string, string>>;
  shape(name: string): readonly number[];
  /** F64, F32, F16, BF16 → float32; I32, I64 → int32; BOOL → bool. Reads only this tensor's bytes. */
  read(name: string): Arr;
  close(): void;
}

/**
 * Opens a safetensors file, or a folder with model.safetensors or model.safetensors.index.json and its shards.
 * Works past 4 GB. Throws CheckpointError when something is missing, cut short or malformed.
 */
export function openSafetensors(path: string): Tensors {
  const files: OpenFile[] = [];
  const places = new Map<string, { file: OpenFile; tensor: StoredTensor }>();
  try {
    for (const each of filesOf(path)) {
      const file = openFile(each);
      files.push(file);
      for (const [name, tensor] of file.header.tensors) {
        if (places.has(name))
          throw new CheckpointError({
            what: `${name} is in two shards`,
            where: file.path,
            next: "Remove files of another download.",
          });
        places.set(name, { file, tensor });
      }
    }
    checkIndex(path, places);
  } catch (error) {
    for (const { fd } of files) closeSync(fd);
    throw error;
  }
  const find = (name: string) => {
    const place = places.get(name);
    if (place) return place;
    throw new CheckpointError({
      what: `no tensor ${name}`,
      where: path,
      got: `${places.size} tensors: ${[...places.keys()].slice(0, 3).join(", ")}…`,
      next: "Check that the weights belong to this model.",
    });
  };
  return {
    names: [...places.keys()],
    metadata: files[0]?.header.metadata ?? {},
    shape: (name) => find(name).tensor.shape,
    read: (name) => {
      const { file, tensor } = find(name);
      return readTensor(file, name, tensor);
    },
    close: () => {
      for (const { fd } of files.splice(0)) closeSync(fd);
    },
  };
}

/** Every tensor of a file or folder. */
export function readSafetensors(path: string): Params {
  const tensors = openSafetensors(path);
  try {
    return Object.fromEntries(tensors.names.map((name) => [name, tensors.read(name)]));
  } finally {
    tensors.close();
  }
}

interface OpenFile {
  readonly fd: number;
  readonly path: string;
  readonly header: Header;
}

function filesOf(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat)
    throw new CheckpointError({
      what: "no such file or folder",
      where: path,
      expected: "a safetensors file or a folder with one",
    });
  if (!stat.isDirectory()) return [path];
  if (existsSync(join(path, INDEX)))
    return [...new Set(readIndex(join(path, INDEX)).values())].sort().map((name) => join(path, name));
  if (existsSync(join(path, SINGLE))) return [join(path, SINGLE)];
  throw new CheckpointError({
    what: "the folder has no weights",
    where: path,
    expected: `${SINGLE} or ${INDEX}`,
    next: "Weights saved as .bin or .gguf must be saved again as safetensors.",
  });
}

/** Tensor name → shard file, from model.safetensors.index.json. */
function readIndex(path: string): Map<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new CheckpointError({
      what: "the shard index is not JSON",
      where: path,
      got: (error as Error).message,
      next: "Download it again.",
    });
  }
  const map = (parsed as { weight_map?: unknown } | null)?.weight_map;
  const entries = Object.entries(map ?? {});
  // A shard lies beside its index: a name with a folder in it could leave the checkpoint.
  const fine =
    entries.length > 0 && entries.every(([, file]) => typeof file === "string" && dirname(file) === ".");
  if (!fine)
    throw new CheckpointError({
      what: "the shard index is malformed",
      where: path,
      expected: "weight_map: file names by tensor",
      next: "Download it again.",
    });
  return new Map(entries as [string, string][]);
}

/** Every tensor that the index promises is in the shard it names. */
function checkIndex(path: string, places: ReadonlyMap<string, { file: OpenFile }>): void {
  const index = join(path, INDEX);
  if (!statSync(path).isDirectory() || !existsSync(index)) return;
  for (const [name, file] of readIndex(index)) {
    if (places.get(name)?.file.path === join(path, file)) continue;
    throw new CheckpointError({
      what: `${name} is not in the shard that the index names`,
      where: index,
      expected: file,
      next: "Download the shards again.",
    });
  }
}

function openFile(path: string): OpenFile {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    throw new CheckpointError({
      what: "the weights cannot be opened",
      where: path,
      got: (error as NodeJS.ErrnoException).code ?? String(error),
      next: "Check the path and its permissions.",
    });
  }
  try {
    return { fd, path, header: readHeader(fd, path) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function readTensor({ fd, path }: OpenFile, name: string, { dtype, shape, begin }: StoredTensor): Arr {
  const length = sizeOf(shape);
  if (dtype === "F32" || dtype === "I32" || dtype === "BOOL") {
    const data =
      dtype === "F32"
        ? new Float32Array(length)
        : dtype === "I32"
          ? new Int32Array(length)
          : new Uint8Array(length);
    readInto(fd, path, begin, new Uint8Array(data.buffer));
    return { shape, dtype: dtype === "F32" ? "float32" : dtype === "I32" ? "int32" : "bool", data };
  }
  const data = dtype === "I64" ? new Int32Array(length) : new Float32Array(length);
  for (let at = 0; at < length; at += PIECE) {
    const count = Math.min(PIECE, length - at);
    const width = storedBytes[dtype];
    const { buffer } = readBytes(fd, path, begin + at * width, count * width);
    if (dtype === "BF16") fromBfloat16(new Uint16Array(buffer, 0, count), data as Float32Array, at);
    else if (dtype === "F16") fromFloat16(new Uint16Array(buffer, 0, count), data as Float32Array, at);
    else if (dtype === "F64") data.set(new Float64Array(buffer, 0, count), at);
    else data.set(narrow(new BigInt64Array(buffer, 0, count), name, path), at);
  }
  return { shape, dtype: dtype === "I64" ? "int32" : "float32", data };
}

function narrow(values: BigInt64Array, name: string, path: string): Int32Array {
  return Int32Array.from(values, (value) => {
    if (BigInt.asIntN(32, value) === value) return Number(value);
    throw new CheckpointError({
      what: `${name} holds a number too big for int32`,
      where: path,
      got: String(value),
    });
  });
}
