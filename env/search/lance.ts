import type { Table } from "@lancedb/lancedb";
import pLimit from "p-limit";
import { DataError, ToolError } from "../../core/errors.ts";
import { lance, tableName, termsColumn } from "./lance-module.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { rank } from "./rank.ts";
import { checkRequest } from "./request.ts";
import type { Hit, Retriever } from "./retriever.ts";
import { queryTerms } from "./terms.ts";

/** LanceDB's pruning, asked for 3 of a million, missed a better passage in 2 of 1,000 queries; asked for 10, in none. */
const leastFetched = 10;
/** Queries of one batch that run at once; each uses several threads of its own. */
const concurrency = 4;

/**
 * Opens an index made by `buildIndex`. BM25 with LanceDB's fixed k1 1.2 and b 0.75.
 * @throws DataError when the folder is no index, was made by another version, or is damaged
 */
export async function openIndex(folder: string): Promise<Retriever> {
  const manifest = readManifest(folder);
  const { connect, MatchQuery } = await lance();
  const { table, close } = await openTable(folder, manifest, connect);
  const limit = pLimit(concurrency);
  let closed = false;

  async function fetch(terms: readonly string[], count: number): Promise<Hit[]> {
    const found = await table
      .query()
      .fullTextSearch(new MatchQuery(terms.join(" "), termsColumn))
      .select(["id", "title", "text", "_score"])
      .limit(count)
      .toArrow();
    const [id, title, text, score] = ["id", "title", "text", "_score"].map((name) => found.getChild(name));
    return Array.from({ length: found.numRows }, (_, row) => ({
      id: String(id?.get(row)),
      title: String(title?.get(row)),
      text: String(text?.get(row)),
      score: Number(score?.get(row)),
    }));
  }

  /** Fetches more until no passage left out can tie with the k-th. */
  async function searchOne(query: string, k: number, signal: AbortSignal | undefined): Promise<Hit[]> {
    const terms = queryTerms(query);
    if (terms.length === 0) return [];
    for (let count = Math.max(leastFetched, 2 * k); ; count *= 16) {
      checkRequest(k, closed, signal);
      const found = await fetch(terms, count);
      const top = rank(found, k, found.length < count);
      if (top !== undefined) return top;
    }
  }

  return {
    version: `lancedb-${manifest.format}-${manifest.fingerprint.slice(0, 16)}`,
    size: manifest.passages,
    async search(queries, k, signal) {
      checkRequest(k, closed, signal);
      try {
        return await Promise.all(queries.map((query) => limit(() => searchOne(query, k, signal))));
      } catch (cause) {
        if (cause instanceof ToolError || signal?.aborted) throw cause;
        throw new ToolError({ what: "the search index failed", where: folder, got: message(cause), cause });
      }
    },
    async close() {
      if (closed) return;
      closed = true;
      close();
    },
  };
}

async function openTable(
  folder: string,
  manifest: Manifest,
  connect: (path: string) => Promise<{ openTable(name: string): Promise<Table>; close(): void }>,
): Promise<{ table: Table; close: () => void }> {
  let rows: number;
  try {
    const connection = await connect(folder);
    const table = await connection.openTable(tableName);
    rows = await table.countRows();
    const close = () => {
      table.close();
      connection.close();
    };
    if (rows === manifest.passages) return { table, close };
    close();
  } catch (cause) {
    throw damaged(folder, message(cause), cause);
  }
  throw damaged(folder, `${rows} passages of ${manifest.passages}`);
}

function damaged(folder: string, got: string, cause?: unknown): DataError {
  return new DataError({
    what: "the search index is damaged",
    where: folder,
    got,
    next: "Build it again: forager index build CORPUS --out FOLDER --force.",
    ...(cause === undefined ? {} : { cause }),
  });
}

const message = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] as string;
