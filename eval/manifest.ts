import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DataError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";

export type Manifest = Readonly<Record<string, string | number | boolean>>;

/**
 * Writes down in `manifest.json` what the records in the folder are records of, or checks that it is this evaluation:
 * records of two policies, seeds or orders must never meet in one file.
 * @throws DataError naming what differs.
 */
export function claim(folder: string, manifest: Manifest): void {
  const path = join(folder, "manifest.json");
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  const found = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  if (found === undefined) writeFileAtomic(path, text);
  else if (found !== text)
    throw new DataError({
      what: "the folder holds the records of another evaluation",
      where: path,
      got: linesOutside(found, text),
      expected: linesOutside(text, found),
      next: "Name another folder, or delete this one to evaluate again.",
    });
}

/** The lines of `text` that `other` does not have. */
function linesOutside(text: string, other: string): string {
  const lines = new Set(other.split("\n"));
  const own = text.split("\n").filter((line) => !lines.has(line));
  return own.map((line) => line.trim().replace(/,$/, "")).join(", ") || "no such setting";
}
