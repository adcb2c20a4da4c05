import { DataError } from "../../core/errors.ts";
import type { Passage } from "../../datasets/task.ts";
import { Bm25Index } from "./bm25.ts";
import { Fingerprint } from "./fingerprint.ts";
import { byId } from "./rank.ts";
import { checkRequest } from "./request.ts";
import type { Hit, Retriever } from "./retriever.ts";
import { passageTerms, queryTerms } from "./terms.ts";

/**
 * Exact BM25 over passages held in memory: the row for small corpora (about 3 KB a 100-word passage).
 * @param maxDocumentShare words in a larger share of the passages are passed over, as stop words are
 * @throws DataError for no passages, or two with one id
 */
export function memoryRetriever(passages: Iterable<Passage>, maxDocumentShare = 1): Retriever {
  const sorted = [...passages].sort(byId); // so that a tie by place is a tie by id
  if (sorted.length === 0)
    throw new DataError({ what: "the corpus is empty", expected: "at least one passage" });
  for (let i = 1; i < sorted.length; i++)
    if (sorted[i]?.id === sorted[i - 1]?.id)
      throw new DataError({
        what: "duplicate id in the corpus",
        got: `"${sorted[i]?.id}"`,
        expected: "different ids",
      });
  const index = new Bm25Index(sorted.map(passageTerms), maxDocumentShare);
  const fingerprint = new Fingerprint();
  for (const passage of sorted) fingerprint.add(passage);
  let closed = false;
  return {
    version: `memory-${fingerprint.digest().slice(0, 16)}${maxDocumentShare < 1 ? `-${maxDocumentShare}` : ""}`,
    size: sorted.length,
    async search(queries, k, signal) {
      checkRequest(k, closed, signal);
      return queries.map((query) =>
        index.search(queryTerms(query), k).map(({ document, score }): Hit => {
          const { id, title, text } = sorted[document] as Passage;
          return { id, title, text, score };
        }),
      );
    },
    async close() {
      closed = true;
    },
  };
}
