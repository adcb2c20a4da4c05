import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Makes a folder and those above it. Node's `recursive` never returns where a parent refuses with ENOENT, as /proc does. */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.push(at);
  for (const folder of missing.reverse())
    try {
      mkdirSync(folder);
    } catch (error) {
      // Another process may have been faster.
      if (!existsSync(folder) || !statSync(folder).isDirectory()) throw error;
    }
}

/** Writes a whole file or nothing: temporary file beside it, fsync, rename. Parent folders are made. */
export function writeFileAtomic(path: string, content: string | Uint8Array): void {
  makeFolder(dirname(path));
  const temporary = `${path}.${process.pid}.tmp`;
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const file = openSync(temporary, "w");
  try {
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(file, bytes, offset);
    fsyncSync(file);
  } catch (error) {
    closeSync(file);
    rmSync(temporary, { force: true });
    throw error;
  }
  closeSync(file);
  renameSync(temporary, path);
}

/** Fills a folder under a temporary name, then renames it into place; on failure nothing is left. */
export async function writeFolderAtomic(
  path: string,
  fill: (folder: string) => Promise<void>,
): Promise<void> {
  const name = `.${process.pid}-${path.split(/[\\/]/).pop()}`;
  const temporary = join(dirname(path), `${name}.tmp`);
  const replaced = join(dirname(path), `${name}.old.tmp`);
  rmSync(temporary, { recursive: true, force: true });
  makeFolder(temporary);
  try {
    await fill(temporary);
    // What is replaced leaves its name whole: a kill in between leaves no folder there, never half a folder.
    if (existsSync(path)) renameSync(path, replaced);
    renameSync(temporary, path);
  } catch (error) {
    if (existsSync(replaced) && !existsSync(path)) renameSync(replaced, path);
    throw error;
  } finally {
    for (const each of [temporary, replaced]) rmSync(each, { recursive: true, force: true });
  }
}
