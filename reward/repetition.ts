import type { SearchRecord } from "../env/environment.ts";

/** Share of the answer tags that are one too many, in [0, 1): 0 for one or none, 1/2 for two, 3/4 for four. */
export const repeatedTags = (answers: number): number => (answers < 2 ? 0 : 1 - 1 / answers);

/**
 * Share of n-grams of words that occurred before in the same text, in [0, 1). Words are split at white space and
 * compared in lower case; n-grams do not run from one turn into the next.
 */
export function repeatedNgrams(turns: readonly string[], n: number): number {
  const seen = new Set<string>();
  let total = 0;
  for (const text of turns) {
    const words = text
      .toLowerCase()
      .split(/\s+/u)
      .filter((word) => word !== "");
    for (let i = 0; i + n <= words.length; i++) {
      seen.add(words.slice(i, i + n).join(" "));
      total++;
    }
  }
  return total === 0 ? 0 : 1 - seen.size / total;
}

/** Share of the searches whose query was asked before in the episode, in [0, 1). */
export const repeatedQueries = (searches: readonly SearchRecord[]): number =>
  searches.length === 0 ? 0 : searches.filter(({ repeated }) => repeated).length / searches.length;
