import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DataError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";

export type Manifest = Readonly<Record<string, string | number | boolean>>;

/** Settings whose names begin so were added later: a manifest with none of a kind says nothing of it. */
const laterSettings = ["judge.", "reward."];

/** A setting in which two manifests differ; undefined where one has none. */
export interface Difference {
  readonly key: string;
  readonly a: string | undefined;
  readonly b: string | undefined;
}

/**
 * Where two manifests differ, in the order of their keys. What one of them is too old to say is no difference: one without
 * any `reward.` key says nothing of its judge either.
 */
export function manifestDifferences(a: Manifest, b: Manifest): Difference[] {
  const old = [a, b].some((each) => !Object.keys(each).some((key) => key.startsWith("reward.")));
  const text = (manifest: Manifest, key: string) =>
    manifest[key] === undefined ? undefined : String(manifest[key]);
  return [...new Set([...Object.keys(a), ...Object.keys(b)])]
    .filter((key) => !(old && laterSettings.some((prefix) => key.startsWith(prefix))))
    .map((key) => ({ key, a: text(a, key), b: text(b, key) }))
    .filter((each) => each.a !== each.b);
}

/**
 * Writes down in `manifest.json` what the records in the folder are records of, or checks that it is this evaluation:
 * records of two policies, seeds, orders or rewards must never meet in one file. A manifest of an earlier version, which
 * says less, stays as it is: nobody knows what it does not say.
 * @throws DataError naming what differs.
 */
export function claim(folder: string, manifest: Manifest): void {
  const path = join(folder, "manifest.json");
  if (!existsSync(path)) {
    writeFileAtomic(path, `${JSON.stringify(manifest, null, 2)}\n`);
    return;
  }
  const differ = manifestDifferences(readManifest(path), manifest);
  if (differ.length === 0) return;
  const list = (side: "a" | "b") => differ.map((each) => `${each.key}: ${each[side] ?? "(none)"}`).join(", ");
  throw new DataError({
    what: "the folder holds the records of another evaluation",
    where: path,
    got: list("a"),
    expected: list("b"),
    next: "Name another folder, or delete this one to evaluate again.",
  });
}

function readManifest(path: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Told below with what is no object.
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Manifest;
  throw new DataError({
    what: "manifest.json of an evaluation is damaged",
    where: path,
    next: "Delete the folder and evaluate again.",
  });
}
