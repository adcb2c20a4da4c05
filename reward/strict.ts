import { lower, nfkc, splitWords } from "./unicode.ts";

/** Typographic forms of one sign; NFKC has already folded the full-width and the small ones. */
const quotes = /[‘’‚‛ʼ′´`]/gu;
const doubleQuotes = /[“”„‟]/gu;
const dashes = /[‐‑‒–—―−]/gu;

/** Commas that group digits by three: 1,000 and 12,345,678, never 1,2 or 1,0000. */
const grouped = /(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9]|,[0-9])/g;

/** Punctuation that stands around a word. Signs that change what is meant (+ - # % $ & @ * /) are not among it. */
const around = ",;:!?\"'()\\[\\]{}<>«»‹›¿¡、。「」『』《》【】";
const before = new RegExp(`^(?:[${around}]|\\.(?![0-9]))+`, "u");
const after = new RegExp(`[.${around}]+$`, "u");

const article = /^(?:a|an|the)$/;

/**
 * Our own, for answers that are numbers, code or signs. NFKC, lower case, one kind of quote and dash, digits without
 * grouping commas, punctuation off the edges of words, one leading article off if something is left, white space
 * collapsed. What stands inside a word stays. Only white space becomes nothing: "The" → "the", "?!" → "?!".
 * "−1,000.5" → "-1000.5"; "the A-Team" → "a-team"; "C++." → "c++"; "Vitamin A" → "vitamin a".
 */
export function strict(text: string): string {
  const folded = lower(nfkc(text)).replace(quotes, "'").replace(doubleQuotes, '"').replace(dashes, "-");
  const words = splitWords(folded);
  const bare = words
    .map((word) =>
      word
        .replace(grouped, (digits) => digits.replaceAll(",", ""))
        .replace(before, "")
        .replace(after, ""),
    )
    .filter((word) => word !== "");
  if (bare.length === 0) return words.join(" ");
  return (bare.length > 1 && article.test(bare[0] as string) ? bare.slice(1) : bare).join(" ");
}
