import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { DataError } from "../../core/errors.ts";

export const manifestName = "forager-index.json";

/** Raised when an index of an older Forager can no longer be searched by this one. */
export const indexFormat = 1;

export const manifestSchema = z.strictObject({
  format: z.literal(indexFormat),
  engine: z.literal("lancedb"),
  passages: z.int().min(1),
  /** SHA-256 over the passages (fingerprint.ts). */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  corpus: z.strictObject({ name: z.string(), bytes: z.int().min(0) }),
  bm25: z.strictObject({ k1: z.number(), b: z.number() }),
  tokenizer: z.strictObject({ name: z.literal("forager-terms"), version: z.int(), maxTermLength: z.int() }),
  /** Terms of all passages, repeats counted. */
  terms: z.int().min(0),
  createdBy: z.string(),
});
/** `forager-index.json`: what an index folder says about itself. */
export type Manifest = z.infer<typeof manifestSchema>;

export const hasManifest = (folder: string): boolean => existsSync(join(folder, manifestName));

/** @throws DataError when the folder is no index, or one this version cannot read. */
export function readManifest(folder: string): Manifest {
  const path = join(folder, manifestName);
  if (!existsSync(path))
    throw new DataError({
      what: existsSync(folder)
        ? `the folder is no search index: it has no ${manifestName}`
        : "no search index there",
      where: folder,
      next: "Build one: forager index build CORPUS --out FOLDER.",
    });
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new DataError({ what: "cannot read the index's manifest", where: path, next: rebuild, cause });
  }
  const parsed = manifestSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new DataError({
    what: "the index cannot be used by this version of Forager",
    where: path,
    got: `${issue?.path.join(".") || "manifest"}: ${issue?.message}`,
    next: rebuild,
  });
}

const rebuild = "Build it again: forager index build CORPUS --out FOLDER --force.";

/**
 * A cheap look at whether an index was built from this corpus file: its size.
 * @throws DataError when it was not, or the corpus is missing.
 */
export function checkCorpus(folder: string, { corpus }: Manifest, path: string): void {
  const { bytes } = describeCorpus(path);
  if (bytes !== corpus.bytes)
    throw new DataError({
      what: "the index was built from another corpus",
      where: folder,
      got: `an index of ${corpus.name} (${corpus.bytes} bytes)`,
      expected: `one of ${path} (${bytes} bytes)`,
      next: `Build it again (forager index build ${path} --out ${folder} --force), or leave out \`search.corpus\`.`,
    });
}

/** @throws DataError when the file is not there. */
export function describeCorpus(path: string): Manifest["corpus"] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat?.isFile())
    throw new DataError({
      what: stat ? "the corpus is not a file" : "corpus not found",
      where: path,
      expected: "a JSONL or JSONL.gz file with one {id, title, text} a line",
    });
  return { name: basename(path), bytes: stat.size };
}
