import { checkRequest } from "./request.ts";
import type { Hit, Retriever } from "./retriever.ts";

/** The retriever of one episode: its first `budget` queries are answered, later ones find nothing. */
export function withBudget(inner: Retriever, budget: number): Retriever {
  let left = budget;
  let closed = false;
  return {
    version: `${inner.version}-budget-${budget}`,
    size: inner.size,
    async search(queries, k, signal) {
      checkRequest(k, closed, signal);
      const answered = queries.slice(0, left);
      left -= answered.length;
      const found = answered.length > 0 ? await inner.search(answered, k, signal) : [];
      return [...found, ...queries.slice(answered.length).map((): Hit[] => [])];
    },
    async close() {
      closed = true;
      await inner.close();
    },
  };
}
