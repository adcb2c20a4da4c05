import { goldOf } from "../reward/answers.ts";
import type { Normalizer } from "../reward/normalize.ts";
import { majorityAt, type Vote } from "./majority.ts";
import { passAll, passAt } from "./passk.ts";
import type { AskedQuestion } from "./questions.ts";

/** What k samples of a question give, in closed form over its n ≥ k valid samples. */
export interface AtK {
  /** Questions with at least k valid samples: those that have a value. */
  readonly n: number;
  /** avg@k: mean exact match of k samples. */
  readonly avg: number;
  /** pass@k: at least one of k is right. */
  readonly pass: number;
  /** pass^k: all k are right. */
  readonly all: number;
  /** maj@k: the commonest answer is right; ties are shared, silence abstains. */
  readonly maj: number;
}

export type AtKName = Exclude<keyof AtK, "n">;

const right = ({ samples }: AskedQuestion) => samples.filter(({ em }) => em === 1).length;

/** Each for one question: undefined with fewer than k valid samples. */
export const atKRows: Readonly<
  Record<AtKName, (question: AskedQuestion, k: number, normalizer: Normalizer) => number | undefined>
> = {
  // The mean over all sets of k samples is the mean of all samples.
  avg: (question, k) => (question.samples.length < k ? undefined : right(question) / question.samples.length),
  pass: (question, k) => passAt(question.samples.length, right(question), k),
  all: (question, k) => passAll(question.samples.length, right(question), k),
  maj: (question, k, normalizer) => {
    const { votes, abstentions } = votesOf(question, normalizer);
    return majorityAt(votes, abstentions, k);
  },
};

/** Answers that are the same once normalised are one candidate. An answer that normalises to nothing is no vote. */
export function votesOf(
  { samples }: AskedQuestion,
  normalizer: Normalizer,
): { readonly votes: Vote[]; readonly abstentions: number } {
  const gold = new Set(samples[0] ? goldOf(samples[0].goldenAnswers, normalizer).answers : []);
  const counts = new Map<string, number>();
  let abstentions = 0;
  for (const { prediction } of samples) {
    const answer = normalizer.normalize(prediction ?? "");
    if (answer === "") abstentions++;
    else counts.set(answer, (counts.get(answer) ?? 0) + 1);
  }
  const votes = [...counts].map(([answer, count]) => ({ count, right: gold.has(answer) }));
  return { votes, abstentions };
}

/** k = 1, 2, 4, … up to `samples`, and `samples` itself; none for one sample. Past 64 only `samples`. */
export function ksOf(samples: number): number[] {
  if (samples < 2) return [];
  const ks = [];
  for (let k = 1; k < Math.min(samples, 65); k *= 2) ks.push(k);
  return [...ks, samples];
}

/** All four at each k that some question has the samples for. */
export function atK(
  questions: readonly AskedQuestion[],
  samples: number,
  normalizer: Normalizer,
): Record<string, AtK> {
  const result: Record<string, AtK> = {};
  for (const k of ksOf(samples)) {
    const able = questions.filter((question) => question.samples.length >= k);
    if (able.length === 0) continue;
    const over = (name: AtKName) =>
      able.reduce((sum, question) => sum + (atKRows[name](question, k, normalizer) ?? 0), 0) / able.length;
    result[k] = {
      n: able.length,
      ...{ avg: over("avg"), pass: over("pass"), all: over("all"), maj: over("maj") },
    };
  }
  return result;
}
