import fc from "fast-check";
import { expect, test } from "vitest";
import { squadOfPlain } from "./squad-of-plain.ts";
import { lower, splitWords, wordClass } from "./unicode.ts";

/** The rule for all of Unicode, as `normalize.ts` has it, written once more without any shortcut. */
function general(text: string): string {
  const bare = lower(text).replace(/[!-/:-@[-`{-~]/g, "");
  const articles = new RegExp(`(?<!${wordClass})(?:a|an|the)(?!${wordClass})`, "gv");
  return splitWords(bare.replace(articles, " ")).join(" ");
}

const pieces = fc.constantFrom(
  ...["a", "an", "the", "A", "An", "THE", "The", "than", "ant", "x", "1"],
  ...[" ", "  ", "\t", "\n", "\v", "\f", "\r", "\x1c", "\x1d", "\x1e", "\x1f"],
  ...[".", "-", "_", "'", "(", "~", "\0", "\x7f", "\x1b", "é", "İ", "Σ", "K", "\ud800", "😀", "\u00a0"],
);
const texts = fc.oneof(
  { weight: 3, arbitrary: fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")) },
  fc.string({ unit: "binary-ascii" }),
  fc.string({ unit: "binary" }),
);

test("equals the general rule, or leaves the text to it", () => {
  let plain = 0;
  fc.assert(
    fc.property(texts, (text) => {
      const found = squadOfPlain(text);
      if (found === undefined) return;
      plain++;
      expect(found).toBe(general(text));
    }),
    { numRuns: 5000 },
  );
  expect(plain).toBeGreaterThan(500);
});

test("takes every text of ASCII letters, digits, punctuation and white space, and no other", () => {
  for (let code = 0; code < 0x250; code++) {
    const sign = String.fromCharCode(code);
    const plain = (code >= 9 && code <= 13) || (code >= 28 && code <= 126);
    for (const text of [sign, `the ${sign} b`, `A${sign}`, `${sign}an`])
      expect([text, squadOfPlain(text)]).toEqual([text, plain ? general(text) : undefined]);
  }
});

test("leaves very long texts to the general rule, and forgets the text before", () => {
  expect(squadOfPlain("b".repeat(70_000))).toBeUndefined();
  expect(squadOfPlain("The Long, long answer")).toBe("long long answer");
  expect(squadOfPlain("Ox")).toBe("ox");
  expect(squadOfPlain("")).toBe("");
});
