import { syllables } from "../world/names.ts";

/** Largest number in any problem: each number from 0 on is one token of a tiny policy. */
export const largest = 99;

export const numberWords: readonly string[] = Array.from({ length: largest + 1 }, (_, n) => String(n));

/** A whole number of the vocabulary. */
export const isNumber = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= largest;

/** Words that drafts, verdicts and conditions are written in, the families' own words aside. */
const messageWords = [
  ...[".", ",", ";", ":", "?", "answer", "is", "not", "every", "step", "follows", "holds", "missing"],
  ...["the", "does", "nothing", "pass", "fail", "be", "must"],
];

/** What a tokenizer needs to write everything in a family; the tags of the team's roles come from env/team. */
export interface FamilyVocabulary {
  readonly special: readonly string[];
  readonly words: readonly string[];
  readonly syllables: readonly string[];
}

const tags = ["question", "search", "information", "answer", "think"];

export function vocabularyOf(own: Iterable<string>): FamilyVocabulary {
  return {
    special: ["<pad>", "<eos>", ...tags.flatMap((tag) => [`<${tag}>`, `</${tag}>`])],
    words: [...new Set([...messageWords, ...numberWords, ...own])].sort(),
    syllables,
  };
}
