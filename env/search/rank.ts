import type { Hit } from "./retriever.ts";

/** Scores of one document computed in another order differ by less than this, relative to the score. */
export const tieTolerance = 1e-6;

/** By code unit, the same in every locale. */
export const byId = (a: { readonly id: string }, b: { readonly id: string }): number =>
  a.id < b.id ? -1 : a.id > b.id ? 1 : 0;

/**
 * The best k of what an engine returned: by score, ties by id. `undefined` when a passage the engine did not
 * return could still belong among them: the tie at place k reaches the end of the list.
 * @param complete the list holds every passage that matches
 */
export function rank(found: readonly Hit[], k: number, complete: boolean): Hit[] | undefined {
  const hits = [...found].sort((a, b) => b.score - a.score || byId(a, b));
  for (let start = 0; start < hits.length && start < k; ) {
    let end = start + 1;
    while (end < hits.length && tied(hits[end - 1] as Hit, hits[end] as Hit)) end++;
    if (end === hits.length && end >= k && !complete) return undefined;
    hits.splice(start, end - start, ...hits.slice(start, end).sort(byId));
    start = end;
  }
  return hits.length < k && !complete ? undefined : hits.slice(0, k);
}

const tied = (a: Hit, b: Hit): boolean => a.score - b.score <= tieTolerance * a.score;
