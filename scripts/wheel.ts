import {
  closeSync,
  createReadStream,
  createWriteStream,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { createInflateRaw } from "node:zlib";
import { DataError } from "../core/errors.ts";

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly compressed: number;
  /** Where the entry's own header starts. */
  readonly offset: number;
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const STORED = 0;
const DEFLATED = 8;

/**
 * Unpacks the entries of a ZIP archive (a Python wheel) that `place` gives a path inside `folder`, piece by piece.
 * Returns their names. Archives past 4 GB are refused. Source: PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.16.
 */
export async function unpackWheel(
  path: string,
  folder: string,
  place: (name: string) => string | undefined,
): Promise<string[]> {
  const file = openSync(path, "r");
  const done: string[] = [];
  try {
    for (const entry of entriesOf(file, path)) {
      const to = place(entry.name);
      if (to === undefined || entry.name.endsWith("/")) continue;
      const target = normalize(join(folder, to));
      if (!target.startsWith(normalize(folder) + sep))
        throw malformed(path, `the entry ${entry.name} leaves the folder`);
      mkdirSync(dirname(target), { recursive: true });
      await unpack(file, path, entry, target);
      done.push(entry.name);
    }
  } finally {
    closeSync(file);
  }
  return done;
}

async function unpack(file: number, path: string, entry: Entry, target: string): Promise<void> {
  const header = bytesAt(file, path, entry.offset, 30);
  if (header.readUInt32LE(0) !== LOCAL) throw malformed(path, `the entry ${entry.name} has no header`);
  const start = entry.offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (entry.method !== STORED && entry.method !== DEFLATED)
    throw malformed(path, `compression method ${entry.method}`);
  if (entry.compressed === 0) return writeFileSync(target, "");
  const raw = createReadStream(path, { start, end: start + entry.compressed - 1 });
  const out = createWriteStream(target);
  if (entry.method === STORED) await pipeline(raw, out);
  else await pipeline(raw, createInflateRaw(), out);
}

/** The archive's table of contents, found from its end. */
function entriesOf(file: number, path: string): Entry[] {
  const { size } = fstatSync(file);
  const tail = bytesAt(file, path, Math.max(0, size - 65_557), Math.min(size, 65_557));
  let at = tail.length - 22;
  while (at >= 0 && tail.readUInt32LE(at) !== END) at--;
  if (at < 0) throw malformed(path, "no table of contents");
  const table = bytesAt(file, path, tail.readUInt32LE(at + 16), tail.readUInt32LE(at + 12));
  const entries: Entry[] = [];
  for (let i = 0; i < table.length; ) {
    if (table.readUInt32LE(i) !== CENTRAL) throw malformed(path, "a broken table of contents");
    const nameLength = table.readUInt16LE(i + 28);
    entries.push({
      name: table.toString("utf8", i + 46, i + 46 + nameLength),
      method: table.readUInt16LE(i + 10),
      compressed: table.readUInt32LE(i + 20),
      offset: table.readUInt32LE(i + 42),
    });
    i += 46 + nameLength + table.readUInt16LE(i + 30) + table.readUInt16LE(i + 32);
  }
  return entries;
}

function bytesAt(file: number, path: string, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  if (readSync(file, bytes, 0, length, position) !== length) throw malformed(path, "cut short");
  return bytes;
}

function malformed(where: string, got: string): DataError {
  return new DataError({ what: "not a wheel we can unpack", where, got, next: "Download it again." });
}
