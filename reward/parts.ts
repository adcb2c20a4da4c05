import type { Facts } from "./facts.ts";
import { sampledTokens, softOverlong } from "./length.ts";
import type { PartOptions } from "./part-options.ts";
import { evidence, freshQuery, novelSearch, turnCredits } from "./process.ts";
import { repeatedNgrams, repeatedQueries, repeatedTags } from "./repetition.ts";
import { teamParts } from "./team/parts.ts";
import { isWellFormed } from "./well-formed.ts";

/** One named reward: a pure number, kept raw, so that stored episodes can be weighed anew. More is better. */
export type Part = (facts: Facts, options: PartOptions) => number;

/**
 * What a part is made from beyond the text: the protocol's tags and the environment's record of searches, which agents
 * of the user's own do not have; ids of gold passages, which not every data set has; a team's account; a single seat, whose
 * turns are in the order in which they were taken.
 */
export type Need = "tags" | "searches" | "supportingIds" | "team" | "oneSeat";

export interface PartRow {
  readonly of: Part;
  readonly needs?: readonly Need[];
}

/** Always computed and kept, whatever counts: in one literal, because every episode has them. */
export const basicsOf = ({ scores, answers }: Facts) => ({
  /** 1 when the judged answer equals a gold alias under the normaliser. */
  exactMatch: scores.em,
  /** Token F1 of the judged answer, best alias. */
  f1: scores.f1,
  /** 1 when a gold alias occurs in the judged answer. Easily hacked: for looking at, not for training. */
  coverMatch: scores.coverEm,
  /** 1 when there is an answer tag, empty or not. */
  answerTag: answers.length > 0 ? 1 : 0,
  /** Number of answer tags. */
  answers: answers.length,
});

const basic = (name: keyof ReturnType<typeof basicsOf>): PartRow => ({
  of: (facts) => basicsOf(facts)[name],
});

export const basicParts = {
  exactMatch: basic("exactMatch"),
  f1: basic("f1"),
  coverMatch: basic("coverMatch"),
  answerTag: basic("answerTag"),
  answers: basic("answers"),
} satisfies Record<keyof ReturnType<typeof basicsOf>, PartRow>;

/** What `process` can be made of, each in [0, 1]. */
export const processParts = {
  /** Share of the gold passages that some search showed. */
  evidence: {
    of: ({ searches, supportingIds }) => evidence(searches, supportingIds),
    needs: ["searches", "supportingIds"],
  },
  /** Share of the searches that showed a new passage; 0 without a search. */
  novelSearch: { of: ({ searches }) => novelSearch(searches), needs: ["searches"] },
  /** Share of the searches that did not repeat a query; 0 without a search. */
  freshQuery: { of: ({ searches }) => freshQuery(searches), needs: ["searches"] },
  /** 1 when the judged answer stands in an observation. */
  supported: { of: ({ supported }) => (supported ? 1 : 0) },
  /** Mean over the turns of what each was worth (process.ts). */
  turnCredit: {
    of: (facts) => mean(creditsOf(facts)),
    needs: ["searches", "supportingIds", "oneSeat"],
  },
} satisfies Record<string, PartRow>;

/** What `repetition` can be made of, each in [−1, 0]: minus the share that is repeated. */
export const repetitionParts = {
  repeatedTags: { of: ({ answers }) => minus(repeatedTags(answers.length)) },
  repeatedNgrams: { of: ({ turns }, { ngram }) => minus(repeatedNgrams(turns, ngram)) },
  repeatedQueries: { of: ({ searches }) => minus(repeatedQueries(searches)), needs: ["searches"] },
} satisfies Record<string, PartRow>;

const otherParts = {
  /** 1 when the policy kept the protocol (well-formed.ts). */
  format: { of: (facts, { format }) => (isWellFormed(facts.turns, format) ? 1 : 0), needs: ["tags"] },
  /** The same as a punishment: −1 when it did not. */
  formatPenalty: { of: (facts, { format }) => (isWellFormed(facts.turns, format) ? 0 : -1), needs: ["tags"] },
  /** 1 when a gold alias stands in an observation, as whole words. */
  retrieval: { of: ({ retrieved }) => (retrieved ? 1 : 0) },
  /** Minus the number of searches beyond those that are free. */
  searchCost: {
    of: ({ searches }, { freeSearches }) => minus(Math.max(0, searches.length - freeSearches)),
    needs: ["searches"],
  },
  /** DAPO's soft punishment of long episodes, in [−1, 0], by tokens the policy sampled. */
  length: {
    of: ({ trajectory }, { maxTokens, bufferTokens }) =>
      softOverlong(sampledTokens(trajectory), maxTokens, bufferTokens),
  },
} satisfies Record<string, PartRow>;

export type ProcessPart = keyof typeof processParts;
export type RepetitionPart = keyof typeof repetitionParts;
export const processPartNames = Object.keys(processParts) as [ProcessPart, ...ProcessPart[]];
export const repetitionPartNames = Object.keys(repetitionParts) as [RepetitionPart, ...RepetitionPart[]];

/** Parts that are one function; `process`, `repetition` and `judge` are added where a scorer is made. */
export const simpleParts = {
  ...basicParts,
  ...processParts,
  ...repetitionParts,
  ...otherParts,
  ...teamParts,
};

/** Every name that a weight may have without code of the user's own. */
export const partNames: readonly string[] = [...Object.keys(simpleParts), "process", "repetition", "judge"];

/** Worth of each policy turn, [turns], in [0, 1]. */
const creditsOf = (facts: Facts): number[] =>
  turnCredits(
    facts.trajectory.sequences.flatMap(({ segments }) => segments),
    facts.searches,
    { gold: facts.supportingIds, supported: facts.supported },
  );

export const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/** −x without a negative zero. */
const minus = (x: number) => (x === 0 ? 0 : -x);
