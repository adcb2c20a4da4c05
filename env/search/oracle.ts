import { ToolError } from "../../core/errors.ts";
import type { Passage } from "../../datasets/task.ts";
import { Bm25Index } from "./bm25.ts";
import { checkRequest } from "./request.ts";
import type { Hit, Retriever } from "./retriever.ts";
import { passageTerms, queryTerms } from "./terms.ts";

/**
 * Retrieval without retrieval errors: for each question, whatever is asked, its gold passages in their order, then
 * what `fallback` finds. Where k is too small for all of them, those that match the query best. The gold is given from
 * outside, by question id: nothing here knows a task.
 * @returns the retriever of one question; it throws ToolError for a question without an entry
 */
export function oracleRetrievers(
  gold: ReadonlyMap<string, readonly Passage[]>,
  fallback?: Retriever,
): (questionId: string) => Retriever {
  return (questionId) => {
    const passages = gold.get(questionId);
    if (passages === undefined)
      throw new ToolError({ what: "the oracle has no passages for this question", where: questionId });
    const ids = new Set(passages.map(({ id }) => id));
    let index: Bm25Index | undefined;
    const chosen = (query: string, k: number): readonly Passage[] => {
      if (passages.length <= k) return passages;
      index ??= new Bm25Index(passages.map(passageTerms));
      const matching = index.search(queryTerms(query), k).map(({ document }) => document);
      const rest = passages.map((_, i) => i).filter((i) => !matching.includes(i));
      const places = new Set([...matching, ...rest].slice(0, k));
      return passages.filter((_, i) => places.has(i));
    };
    let closed = false;
    return {
      version: `oracle-${questionId}-${fallback?.version ?? "alone"}`,
      size: fallback?.size ?? passages.length,
      async search(queries, k, signal) {
        checkRequest(k, closed, signal);
        const more = await fallback?.search(queries, k + passages.length, signal);
        return queries.map((query, i) => {
          const others = more?.[i]?.filter(({ id }) => !ids.has(id)) ?? [];
          const above = others[0]?.score ?? 0;
          const own = chosen(query, k);
          const first = own.map((passage, rank): Hit => {
            return { ...passage, score: above + own.length - rank };
          });
          return [...first, ...others].slice(0, k);
        });
      },
      async close() {
        closed = true;
      },
    };
  };
}
