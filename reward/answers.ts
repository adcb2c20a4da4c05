import type { Normalizer } from "./normalize.ts";

/** Gold answers of one question, normalised once. */
export interface Gold {
  /** Normalised, without duplicates and without those that normalise to nothing. Empty: nothing can be scored. */
  readonly answers: readonly string[];
  /** Words of each of them, for F1. */
  readonly words: readonly (readonly string[])[];
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
  const answers: string[] = [];
  let dropped = 0;
  for (const alias of aliases) {
    const normal = normalizer.normalize(alias);
    if (normal === "") dropped++;
    else if (!answers.includes(normal)) answers.push(normal);
  }
  return { answers, words: answers.map(wordsOf), dropped };
}

/** An absent prediction, or one that normalises to nothing, scores 0 everywhere. */
export function scoreAnswer(
  prediction: string | undefined,
  gold: Gold,
  normalizer: Normalizer,
): AnswerScores {
  const normal = prediction === undefined ? "" : normalizer.normalize(prediction);
  if (normal === "") return nothing;
  if (gold.answers.includes(normal)) return everything;
  return { em: 0, f1: f1(normal, gold), coverEm: coverMatch(normal, gold) };
}

const nothing: AnswerScores = { em: 0, f1: 0, coverEm: 0 };
/** An equal answer has all words in common, and holds itself. */
const everything: AnswerScores = { em: 1, f1: 1, coverEm: 1 };

/** Words one space apart; `split` takes three times as long for as few as answers have. */
function wordsOf(normal: string): string[] {
  const words: string[] = [];
  let from = 0;
  for (let at = normal.indexOf(" "); at >= 0; at = normal.indexOf(" ", from)) {
    words.push(normal.slice(from, at));
    from = at + 1;
  }
  words.push(normal.slice(from));
  return words;
}

/** @param prediction normalised, and equal to no gold answer */
function coverMatch(prediction: string, { answers }: Gold): 0 | 1 {
  for (const gold of answers) if (contains(prediction, gold)) return 1;
  return 0;
}

/** By code points, as in Python: a lone surrogate is not part of a pair. */
function contains(text: string, part: string): boolean {
  if (part.length > text.length || !text.includes(part)) return false;
  if (!/\p{Surrogate}/u.test(part)) return true;
  const points = [...text];
  const wanted = [...part];
  return points.some((_, start) => wanted.every((point, i) => points[start + i] === point));
}

const closed = new Set(["yes", "no", "noanswer"]);

/** @param prediction normalised, and equal to no gold answer */
function f1(prediction: string, { answers, words }: Gold): number {
  if (closed.has(prediction)) return 0;
  const predicted = wordsOf(prediction);
  let best = 0;
  for (let i = 0; i < answers.length; i++)
    if (!closed.has(answers[i] as string)) best = Math.max(best, wordF1(predicted, words[i] as string[]));
  return best;
}

/** Harmonic mean of precision and recall over words, repeated words counted (multisets). */
function wordF1(predicted: readonly string[], wanted: readonly string[]): number {
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
