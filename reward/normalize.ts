import { ConfigError } from "../core/errors.ts";
import { squadOfPlain } from "./squad-of-plain.ts";
import { strict } from "./strict.ts";
import { lower, splitWords, wordClass } from "./unicode.ts";

/** A way to make answers comparable. Numbers scored under another id or version must not be compared. */
export interface Normalizer {
  readonly id: string;
  readonly version: number;
  normalize(text: string): string;
}

/** Rows of the registry. `satisfies` keeps the ids as literals for the config schema. */
export const normalizers = {
  /** Search-R1's. */
  squad: { id: "squad", version: 1, normalize: squad },
  "r1-searcher": { id: "r1-searcher", version: 1, normalize: r1Searcher },
  /** FlashRAG copies SQuAD's code; a row of its own, so that what is reported under it says so. */
  flashrag: { id: "flashrag", version: 1, normalize: squad },
  strict: { id: "strict", version: 1, normalize: strict },
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
/** White space of Python's `str.split()` in ASCII. */
const asciiSpace = "\t-\r\x1c-\x20";
const asciiSpaces = new RegExp(`[${asciiSpace}]+`, "g");
const asciiArticles = /\b(?:a|an|the)\b/g;
const articles = new RegExp(`(?<!${wordClass})(?:a|an|the)(?!${wordClass})`, "gv");

/**
 * SQuAD's `normalize_answer` (Rajpurkar et al. 2016; the same code in Search-R1 and FlashRAG), equal to Python:
 * lower case, punctuation deleted, articles replaced by a space, white space collapsed.
 * "The A-Team" → "ateam"; an answer of articles alone → "".
 */
function squad(text: string): string {
  return squadOfPlain(text) ?? withoutArticles(lower(text).replace(punctuation, ""));
}

/** Punctuation, underscores and four quotes: ‘ ’ ´ `. */
const spaced = /[!-/:-@[-`{-~‘’´]/gu;

/**
 * R1-Searcher's (evaluation and reward): punctuation becomes a space instead of nothing, so "U.S." → "u s" and
 * "A-Team" → "team"; an answer that is exactly True or False is yes or no.
 */
function r1Searcher(text: string): string {
  if (text === "True") return "yes";
  if (text === "False") return "no";
  return withoutArticles(lower(text.replaceAll("_", " ")).replace(spaced, " "));
}

function withoutArticles(bare: string): string {
  // Most answers are ASCII, and there the plain word boundary and spaces are right and several times faster.
  return asciiOnly.test(bare)
    ? bare.replace(asciiArticles, " ").replace(asciiSpaces, " ").trim()
    : splitWords(bare.replace(articles, " ")).join(" ");
}
