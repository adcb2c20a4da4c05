import { InvariantError } from "../core/errors.ts";
import type { Task } from "./task.ts";

/** How alike two questions are: the same text, the same words in the same order, or most words in common. */
export const likenesses = ["exact", "normalised", "near"] as const;
export type Likeness = (typeof likenesses)[number];

export interface Twin {
  readonly kind: Likeness;
  /** Shared words / all words, as sets; 1 for `exact` and `normalised`. */
  readonly similarity: number;
  /** The question that was looked for. */
  readonly task: Task;
  /** The question of the set that is like it. */
  readonly other: Task;
  /** A gold answer in common after normalising: a leak. Without one a near twin is often a template filled in anew. */
  readonly sameAnswer: boolean;
}

export interface OverlapOptions {
  /** Least similarity of `near`, in (0, 1]. */
  readonly near: number;
  /** The reward's normaliser, for the answers. */
  readonly normalize: (answer: string) => string;
}

/**
 * A set of questions in which those like another are found: all of them, none by chance. Memory grows with the set,
 * not with what is looked for, so the larger side is streamed past the smaller.
 *
 * Two sets of words with Jaccard similarity ≥ t share a word among the first |x| − ⌈t·|x|⌉ + 1 of each, both in one
 * order; rarest first, few sets meet there. And after a shared word no more can be shared than the shorter rest.
 * Source: Chaudhuri, Ganti and Kaushik (2006), prefix filtering; Xiao et al. (2008), PPJoin's positional filter.
 */
export class OverlapSet {
  private readonly tasks: readonly Task[];
  private readonly options: OverlapOptions;
  private readonly byText = new Map<string, number[]>();
  private readonly byWords = new Map<string, number[]>();
  /** Word → its place in the order, rarest first. */
  private readonly ranks: ReadonlyMap<string, number>;
  /** Words of each question as ranks, ascending. */
  private readonly sets: readonly Uint32Array[];
  /** Rank → questions that have it in their prefix, each followed by its place there. */
  private readonly prefixes = new Map<number, number[]>();
  /** Words shared so far with each question, while one is looked for; −1: too few can be. */
  private readonly shared: Int32Array;
  private readonly answers: readonly ReadonlySet<string>[];

  constructor(tasks: readonly Task[], options: OverlapOptions) {
    if (!(options.near > 0 && options.near <= 1))
      throw new InvariantError({ what: "a similarity is above 0 and at most 1", got: `${options.near}` });
    this.tasks = tasks;
    this.options = options;
    const words = tasks.map(({ question }) => questionWords(question));
    const counts = new Map<string, number>();
    for (const list of words) for (const word of new Set(list)) counts.set(word, (counts.get(word) ?? 0) + 1);
    const ordered = [...counts].sort(([a, m], [b, n]) => m - n || (a < b ? -1 : 1));
    this.ranks = new Map(ordered.map(([word], rank) => [word, rank]));
    this.sets = words.map((list) => this.ranksOf(list).known);
    this.answers = tasks.map((task) => this.answersOf(task));
    this.shared = new Int32Array(tasks.length);
    for (const [i, { question }] of tasks.entries()) {
      append(this.byText, question.trim(), i);
      append(this.byWords, (words[i] as string[]).join(" "), i);
      const set = this.sets[i] as Uint32Array;
      for (const [place, rank] of set.subarray(0, this.prefixLength(set.length)).entries())
        append(this.prefixes, rank, i, place);
    }
  }

  /** Questions of the set like `task`, the likest first, then in the set's order. `task` itself is not its own twin. */
  twins(task: Task): Twin[] {
    const words = questionWords(task.question);
    const found = new Map<number, { kind: Likeness; similarity: number }>();
    for (const i of this.byText.get(task.question.trim()) ?? [])
      found.set(i, { kind: "exact", similarity: 1 });
    for (const i of this.byWords.get(words.join(" ")) ?? [])
      if (!found.has(i)) found.set(i, { kind: "normalised", similarity: 1 });
    for (const [i, similarity] of this.near(words))
      if (!found.has(i)) found.set(i, { kind: "near", similarity });
    const answers = this.answersOf(task);
    return [...found]
      .filter(([i]) => this.tasks[i] !== task)
      .sort(
        ([i, a], [j, b]) =>
          likenesses.indexOf(a.kind) - likenesses.indexOf(b.kind) || b.similarity - a.similarity || i - j,
      )
      .map(([i, twin]) => ({
        ...twin,
        task,
        other: this.tasks[i] as Task,
        sameAnswer: [...(this.answers[i] as ReadonlySet<string>)].some((answer) => answers.has(answer)),
      }));
  }

  private near(words: readonly string[]): Map<number, number> {
    const { known, size } = this.ranksOf(words);
    // Words that no question of the set has come first in the order: they fill the prefix and find nothing.
    const unknown = size - known.length;
    const prefix = known.subarray(0, Math.max(0, this.prefixLength(size) - unknown));
    const touched: number[] = [];
    for (const [k, rank] of prefix.entries()) this.touch(rank, unknown + k, size, touched);
    const found = new Map<number, number>();
    for (const i of touched) {
      const candidate = (this.shared[i] as number) > 0;
      this.shared[i] = 0;
      if (!candidate) continue;
      const set = this.sets[i] as Uint32Array;
      const shared = intersection(known, set);
      const similarity = shared / (size + set.length - shared);
      if (similarity >= this.options.near) found.set(i, similarity);
    }
    return found;
  }

  /** Counts one shared word of the prefix; questions that can no longer share enough after it are given up. */
  private touch(rank: number, place: number, size: number, touched: number[]): void {
    const { near } = this.options;
    const { shared, sets } = this;
    const posting = this.prefixes.get(rank) ?? [];
    for (let at = 0; at < posting.length; at += 2) {
      const i = posting[at] as number;
      const count = shared[i] as number;
      if (count < 0) continue;
      const other = (sets[i] as Uint32Array).length;
      const needed = Math.ceil((near / (1 + near)) * (size + other) - 1e-9);
      // This word, and what is left of the shorter: the prefixes are walked in the words' order.
      const most = count + Math.min(size - place, other - (posting[at + 1] as number));
      if (count === 0) touched.push(i);
      shared[i] = most >= needed ? count + 1 : -1;
    }
  }

  private ranksOf(words: readonly string[]): { readonly known: Uint32Array; readonly size: number } {
    const distinct = new Set(words);
    const known = [...distinct].flatMap((word) => this.ranks.get(word) ?? []).sort((a, b) => a - b);
    return { known: Uint32Array.from(known), size: distinct.size };
  }

  private prefixLength(size: number): number {
    // The small step down keeps rounding of near · size from shortening a prefix.
    return size === 0 ? 0 : size - Math.ceil(this.options.near * size - 1e-9) + 1;
  }

  private answersOf({ goldenAnswers }: Task): ReadonlySet<string> {
    return new Set(goldenAnswers.map(this.options.normalize).filter((answer) => answer !== ""));
  }
}

/**
 * The words of a question, in order: lower case, compatibility forms folded, accents kept, punctuation dropped.
 * Scripts without spaces count by characters. A question without a letter or digit is one word.
 */
export function questionWords(question: string): string[] {
  const text = question.normalize("NFKC").toLowerCase();
  return text.match(unspaced) ?? [text.trim()];
}

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{M}\p{N}])+/gu;

function append<K>(map: Map<K, number[]>, key: K, ...values: number[]): void {
  const list = map.get(key);
  if (list) list.push(...values);
  else map.set(key, values);
}

function intersection(a: Uint32Array, b: Uint32Array): number {
  let shared = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const difference = (a[i] as number) - (b[j] as number);
    if (difference === 0) shared++;
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  return shared;
}
