import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Connection, Table } from "@lancedb/lancedb";
import { DataError, ForagerError } from "../../core/errors.ts";
import { writeFolderAtomic } from "../../core/files.ts";
import { packageRoot } from "../../core/package-root.ts";
import { readPassages } from "../../datasets/jsonl.ts";
import { b, k1 } from "./bm25.ts";
import { countLines } from "./count-lines.ts";
import { Fingerprint } from "./fingerprint.ts";
import { lance, tableName, termsColumn } from "./lance-module.ts";
import { describeCorpus, hasManifest, indexFormat, type Manifest, manifestName } from "./manifest.ts";
import { maxTermLength, passageTerms, termsVersion } from "./terms.ts";

export interface BuildProgress {
  readonly phase: "reading" | "indexing";
  /** Passages read so far. */
  readonly passages: number;
  /** Lines of the corpus: at least the number of passages there will be. */
  readonly total: number;
}

export interface BuildIndex {
  /** JSONL or JSONL.gz of passages. */
  readonly corpus: string;
  /** Folder to make. */
  readonly out: string;
  /** Replace an index that is there. A folder that is no index is never replaced. */
  readonly force?: boolean;
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Passages held in memory at once. */
  readonly batch?: number;
}

/** A batch is also stored when its text is this long, in UTF-16 units: a few very long passages are a batch too. */
const batchText = 32 * 2 ** 20;

/** Passages from one report of progress to the next. */
const reportEvery = 1024;

interface Row extends Record<string, unknown> {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly terms: string;
}

/**
 * Builds a search index: whole or not at all. Memory is bounded by the batch, not by the corpus.
 * @throws DataError for a bad corpus (file:line), a folder in the way, or a folder that cannot be written
 */
export async function buildIndex(options: BuildIndex): Promise<Manifest> {
  const { corpus, out, force = false } = options;
  const source = describeCorpus(corpus);
  checkTarget(out, force);
  let manifest: Manifest | undefined;
  try {
    const total = await countLines(corpus, options.signal);
    await writeFolderAtomic(out, async (folder) => {
      const filled = await fill(folder, total, options);
      options.signal?.throwIfAborted();
      manifest = {
        format: indexFormat,
        engine: "lancedb",
        ...filled,
        corpus: source,
        bm25: { k1, b },
        tokenizer: { name: "forager-terms", version: termsVersion, maxTermLength },
        createdBy: thisVersion(),
      };
      writeFileSync(join(folder, manifestName), `${JSON.stringify(manifest, null, 2)}\n`);
      checkTarget(out, force); // someone else may have been here in the meantime
    });
  } catch (cause) {
    if (cause instanceof ForagerError || options.signal?.aborted) throw cause;
    throw new DataError({
      what: "cannot write the search index",
      where: out,
      got: firstLine(cause),
      expected: "a folder that can be written, and room for about twice the corpus",
      cause,
    });
  }
  return manifest as Manifest;
}

function thisVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as {
    version: string;
  };
  return `forager ${version}`;
}

const firstLine = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] as string;

/** Never removes what `buildIndex` did not make. */
function checkTarget(out: string, force: boolean): void {
  if (!existsSync(out)) return;
  if (hasManifest(out)) {
    if (force) return;
    throw new DataError({
      what: "there is an index already",
      where: out,
      next: "Give --force to replace it.",
    });
  }
  let names: string[];
  try {
    names = readdirSync(out);
  } catch (cause) {
    throw new DataError({ what: "the index's folder is a file or cannot be read", where: out, cause });
  }
  if (names.length > 0)
    throw new DataError({
      what: "the folder is not empty and is no search index",
      where: out,
      got: names.slice(0, 3).join(", "),
      next: "Choose a new folder for the index.",
    });
}

async function fill(
  folder: string,
  total: number,
  { corpus, onProgress, signal, batch = 16_384 }: BuildIndex,
): Promise<Pick<Manifest, "passages" | "fingerprint" | "terms">> {
  const { connect, Index } = await lance();
  const connection = await connect(folder);
  const fingerprint = new Fingerprint();
  let table: Table | undefined;
  let rows: Row[] = [];
  let held = 0;
  let passages = 0;
  let terms = 0;
  let batches = 0;
  const flush = async () => {
    signal?.throwIfAborted();
    if (table === undefined) table = await createTable(connection, rows);
    else await table.add(rows);
    passages += rows.length;
    batches++;
    rows = [];
    held = 0;
  };
  try {
    for await (const passage of readPassages(corpus)) {
      fingerprint.add(passage);
      const found = passageTerms(passage);
      terms += found.length;
      rows.push({ ...passage, terms: found.join(" ") });
      held += passage.text.length;
      if (rows.length >= batch || held >= batchText) await flush();
      const read = passages + rows.length;
      if (read % reportEvery === 0) onProgress?.({ phase: "reading", passages: read, total });
    }
    if (rows.length > 0) await flush();
    if (table === undefined) throw new DataError({ what: "the corpus is empty", where: corpus });
    const stored: Table = table;
    onProgress?.({ phase: "indexing", passages, total });
    if (batches > 8) await stored.optimize({ cleanupOlderThan: new Date() });
    await stored.createIndex(termsColumn, { config: Index.fts(ftsOptions) });
    return { passages, fingerprint: fingerprint.digest(), terms };
  } finally {
    (table as Table | undefined)?.close();
    connection.close();
  }
}

/** The terms column is cut by us (terms.ts): LanceDB only splits it at spaces. Lengths are in bytes there. */
const ftsOptions = {
  withPosition: false,
  baseTokenizer: "whitespace",
  lowercase: false,
  stem: false,
  removeStopWords: false,
  asciiFolding: false,
  maxTokenLength: 4 * maxTermLength + 1,
} as const;

/** Column types are inferred from the first batch: all four are text. */
const createTable = (connection: Connection, rows: Row[]): Promise<Table> =>
  connection.createTable(tableName, rows);
