import { ConfigError } from "../core/errors.ts";
import { lower, splitWords, wordClass } from "./unicode.ts";

/** A way to make answers comparable. Numbers scored under another id or version must not be compared. */
export interface Normalizer {
  readonly id: string;
  readonly version: number;
  normalize(text: string): string;
}

/** Rows of the registry. `satisfies` keeps the ids as literals for the config schema. */
export const normalizers = {
  squad: { id: "squad", version: 1, normalize: squad },
} satisfies Record<string, Normalizer>;

export type NormalizerId = keyof typeof normalizers;
export const normalizerIds = Object.keys(normalizers) as [NormalizerId, ...NormalizerId[]];

/** @throws ConfigError for an id the registry does not have. */
export function normalizerOf(id: string): Normalizer {
  const found = Object.values<Normalizer>(normalizers).find((row) => row.id === id);
  if (found) return found;
  throw new ConfigError({ what: `unknown normalizer \`${id}\``, expected: normalizerIds.join(" or ") });
}

/** Python's `string.punctuation`: ASCII only, so curly quotes and dashes stay. */
const punctuation = /[!-/:-@[-`{-~]/g;
const asciiOnly = /^[\0-\x7f]*$/;
const asciiArticles = /\b(?:a|an|the)\b/g;
const articles = new RegExp(`(?<!${wordClass})(?:a|an|the)(?!${wordClass})`, "gv");

/**
 * SQuAD's `normalize_answer` (Rajpurkar et al. 2016; the same code in Search-R1 and FlashRAG), equal to Python:
 * lower case, punctuation deleted, articles replaced by a space, white space collapsed.
 * "The A-Team" → "ateam"; an answer of articles alone → "".
 */
function squad(text: string): string {
  const bare = lower(text).replace(punctuation, "");
  // Most answers are ASCII, and there the plain word boundary is right and several times faster.
  return splitWords(bare.replace(asciiOnly.test(bare) ? asciiArticles : articles, " ")).join(" ");
}
