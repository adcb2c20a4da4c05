import { closeSync, fsyncSync, openSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeFolderAtomic } from "../core/files.ts";
import type { Params } from "../engine/array.ts";
import type { LoraConfig } from "./policy/lora.ts";
import { writeAdapter } from "./policy/peft.ts";

/** Writes an adapter folder whole or not at all, on the disk when this returns: a server reads it next. */
export async function writeAdapterFolder(
  path: string,
  adapter: { lora: LoraConfig; params: Params; base: string },
): Promise<void> {
  await writeFolderAtomic(path, async (folder) => {
    writeAdapter(folder, adapter); // Syncs its files.
    syncFolder(folder);
  });
  syncFolder(dirname(path));
}

/** A rename is on the disk when its folder is. */
function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Removes what a killed writer left half done. The folder is this run's alone. */
export function sweepTemporary(folder: string): string[] {
  const left = readdirSync(folder).filter((name) => name.startsWith(".") && name.endsWith(".tmp"));
  for (const name of left) rmSync(join(folder, name), { recursive: true, force: true });
  return left;
}

/** Adapters that lie in the folder, by name. */
export function adaptersIn(folder: string, ours: (name: string) => boolean): string[] {
  return readdirSync(folder).filter(ours);
}

/** Only of an adapter that no server holds: one may read it again at any time, and dies if it is gone. */
export function removeAdapterFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
