import type { Normalizer } from "./normalize.ts";

/** Gold answers of one question, normalised once. */
export interface Gold {
  /** Normalised, without duplicates and without those that normalise to nothing. Empty: nothing can be scored. */
  readonly answers: readonly string[];
  /** How many aliases were dropped because they normalise to nothing: they would match an empty answer. */
  readonly dropped: number;
}

/** Scores of one prediction against one question's gold answers, each in [0, 1]; the best alias counts. */
export interface AnswerScores {
  /** 1 when the normalised prediction equals an alias. */
  readonly em: number;
  /** Token F1 of SQuAD with HotpotQA's rule that yes, no and noanswer match whole or not at all. */
  readonly f1: number;
  /** 1 when an alias occurs in the prediction. Easily hacked ("A or B or C"): never train on it. */
  readonly coverEm: number;
}

export function goldOf(aliases: readonly string[], normalizer: Normalizer): Gold {
  const kept = aliases.map((alias) => normalizer.normalize(alias)).filter((alias) => alias !== "");
  return { answers: [...new Set(kept)], dropped: aliases.length - kept.length };
}

/** An absent prediction, or one that normalises to nothing, scores 0 everywhere. */
export function scoreAnswer(
  prediction: string | undefined,
  gold: Gold,
  normalizer: Normalizer,
): AnswerScores {
  const normal = prediction === undefined ? "" : normalizer.normalize(prediction);
  if (normal === "") return nothing;
  if (exactMatch(normal, gold.answers) === 1) return everything;
  return { em: 0, f1: f1(normal, gold.answers), coverEm: coverMatch(normal, gold.answers) };
}

const nothing: AnswerScores = { em: 0, f1: 0, coverEm: 0 };
/** An equal answer has all words in common, and holds itself. */
const everything: AnswerScores = { em: 1, f1: 1, coverEm: 1 };

/** All arguments normalised. */
export function exactMatch(prediction: string, golds: readonly string[]): 0 | 1 {
  return prediction !== "" && golds.includes(prediction) ? 1 : 0;
}

/** All arguments normalised. */
export function coverMatch(prediction: string, golds: readonly string[]): 0 | 1 {
  return prediction !== "" && golds.some((gold) => gold !== "" && contains(prediction, gold)) ? 1 : 0;
}

/** By code points, as in Python: a lone surrogate is not part of a pair. */
function contains(text: string, part: string): boolean {
  if (!text.includes(part)) return false;
  if (!/\p{Surrogate}/u.test(part)) return true;
  const points = [...text];
  const wanted = [...part];
  return points.some((_, start) => wanted.every((point, i) => points[start + i] === point));
}

/** All arguments normalised. */
export function f1(prediction: string, golds: readonly string[]): number {
  return golds.reduce((best, gold) => Math.max(best, pairF1(prediction, gold)), 0);
}

const closed = new Set(["yes", "no", "noanswer"]);

/** Harmonic mean of precision and recall over words, repeated words counted (multisets). */
function pairF1(prediction: string, gold: string): number {
  if (prediction === "" || gold === "") return 0;
  if (prediction === gold) return 1;
  if (closed.has(prediction) || closed.has(gold)) return 0;
  const predicted = prediction.split(" ");
  const wanted = gold.split(" ");
  const same = wordsInCommon(predicted, wanted);
  // 2pr/(p+r) with p = same/predicted and r = same/wanted.
  return same === 0 ? 0 : (2 * same) / (predicted.length + wanted.length);
}

/** Answers have few words: looking through them beats a map, up to about here. */
const few = 16;

function wordsInCommon(predicted: readonly string[], wanted: readonly string[]): number {
  let same = 0;
  if (predicted.length * wanted.length <= few * few) {
    const left = [...wanted];
    for (const word of predicted) {
      const at = left.indexOf(word);
      if (at < 0) continue;
      left[at] = "";
      same++;
    }
    return same;
  }
  const left = new Map<string, number>();
  for (const word of wanted) left.set(word, (left.get(word) ?? 0) + 1);
  for (const word of predicted) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    same++;
  }
  return same;
}
