import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { InvariantError } from "./errors.ts";

let root: string | undefined;

/** The package's root folder, the same from source (tsx, vitest) and from dist/: what is not code is read from here. */
export function packageRoot(): string {
  root ??= nearestPackage(import.meta.dirname);
  return root;
}

function nearestPackage(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder)) throw new InvariantError({ what: "no package.json above", where: from });
  }
}
