import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** Writes a whole file or nothing: temporary file beside it, fsync, rename. Parent folders are made. */
export function writeFileAtomic(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
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
  mkdirSync(temporary, { recursive: true });
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
