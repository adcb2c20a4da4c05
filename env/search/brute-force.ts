import type { Passage } from "../../datasets/task.ts";
import { byId } from "./rank.ts";
import type { Hit } from "./retriever.ts";
import { passageTerms, queryTerms } from "./terms.ts";

/**
 * BM25 as its formula says, every passage scored for every query: what the engines are held to in tests and timed
 * against in bench/search. k1 1.2, b 0.75, Lucene's idf; best first, ties by id.
 * @param unit scores of one term are rounded to whole multiples of it; 0 is no rounding
 */
export function bruteForce(passages: readonly Passage[], unit = 0): (query: string, k: number) => Hit[] {
  const counts = passages.map((passage) => {
    const frequency = new Map<string, number>();
    for (const term of passageTerms(passage)) frequency.set(term, (frequency.get(term) ?? 0) + 1);
    return frequency;
  });
  const lengths = passages.map((passage) => passageTerms(passage).length);
  const mean = lengths.reduce((sum, length) => sum + length, 0) / passages.length;
  return (query, k) => {
    const scores = new Float64Array(passages.length);
    for (const term of queryTerms(query)) {
      const n = counts.filter((frequency) => frequency.has(term)).length;
      const weight = Math.log(1 + (passages.length - n + 0.5) / (n + 0.5));
      counts.forEach((frequency, i) => {
        const tf = frequency.get(term);
        if (tf === undefined) return;
        const score = (weight * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * (lengths[i] as number)) / mean));
        (scores[i] as number) += unit === 0 ? score : Math.max(1, Math.round(score / unit)) * unit;
      });
    }
    return passages
      .map((passage, i) => ({ ...passage, score: scores[i] as number }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || byId(a, b))
      .slice(0, k);
  };
}
