import type { Passage } from "../../datasets/task.ts";
import { byId } from "./rank.ts";
import type { Hit } from "./retriever.ts";
import { passageTerms, queryTerms } from "./terms.ts";

/**
 * BM25 as its formula says, every passage that holds a word of the query scored: what the engines are held to in
 * tests and timed against in bench/search. k1 1.2, b 0.75, Lucene's idf; best first, ties by id.
 * @param unit what a term adds is rounded to whole multiples of it; 0 is no rounding
 */
export function bruteForce(passages: readonly Passage[], unit = 0): (query: string, k: number) => Hit[] {
  const postings = new Map<string, Map<number, number>>(); // term → passage → frequency
  const lengths = passages.map((passage, i) => {
    const terms = passageTerms(passage);
    for (const term of terms) {
      const posting = postings.get(term) ?? new Map<number, number>();
      postings.set(term, posting.set(i, (posting.get(i) ?? 0) + 1));
    }
    return terms.length;
  });
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  return (query, k) => {
    const scores = new Float64Array(passages.length);
    for (const term of queryTerms(query)) {
      const posting = postings.get(term) ?? new Map<number, number>();
      const idf = Math.log(1 + (passages.length - posting.size + 0.5) / (posting.size + 0.5));
      for (const [i, tf] of posting) {
        const score = (idf * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * (lengths[i] as number)) / mean));
        (scores[i] as number) += unit === 0 ? score : Math.max(1, Math.round(score / unit)) * unit;
      }
    }
    return best(passages, scores, k);
  };
}

/** One pass that keeps the k best so far; a passage that scores 0 is no hit. */
function best(passages: readonly Passage[], scores: Float64Array, k: number): Hit[] {
  let hits: Hit[] = [];
  let least = 0;
  for (let i = 0; i < passages.length; i++) {
    const score = scores[i] as number;
    if (score === 0 || score < least) continue;
    hits.push({ ...(passages[i] as Passage), score });
    if (hits.length < 2 * k) continue;
    hits = hits.sort((a, b) => b.score - a.score || byId(a, b)).slice(0, k);
    least = hits.at(-1)?.score ?? 0;
  }
  return hits.sort((a, b) => b.score - a.score || byId(a, b)).slice(0, k);
}
