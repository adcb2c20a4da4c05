import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { normalizerOf, normalizers } from "./normalize.ts";

const { normalize } = normalizers.squad;

/** Values printed by Python 3.11's normalize_answer. */
const golden: [string, string][] = [
  ["The", ""],
  ["A", ""],
  ["The a an", ""],
  ["U.S.", "us"],
  ["U.S.A.", "usa"],
  ["A.A. Milne", "aa milne"],
  ["A. A. Milne", "milne"],
  ["the A-Team", "ateam"],
  ["the-the", "thethe"],
  ["Vitamin A", "vitamin"],
  ["C++", "c"],
  ["C#", "c"],
  ["AT&T", "att"],
  ["F-16", "f16"],
  ["X-Men", "xmen"],
  ["X Men", "x men"],
  ["3.14", "314"],
  ["1,000", "1000"],
  ["10:30", "1030"],
  ["10.30", "1030"],
  ["10–12", "10–12"],
  ["yes.", "yes"],
  ["O’Neill", "o’neill"],
  ["O'Neill", "oneill"],
  ["“Paris”", "“paris”"],
  ["“The Who”", "“ who”"],
  ["New–York", "new–york"],
  ["１２", "１２"],
  ["a\u00a0b", "b"],
  ["a\u200bb", "\u200bb"],
  ["x\x85y", "x y"],
  ["x\x1cy", "x y"],
  ["x\ufeffy", "x\ufeffy"],
  ["año", "año"],
  ["éa", "éa"],
  ["aérien", "aérien"],
  ["Aïda", "aïda"],
  ["anā", "anā"],
  ["l’a", "l’"],
  ["an\u0303o", "\u0303o"],
  ["İstanbul", "i̇stanbul"],
  ["ΟΔΟΣ", "οδος"],
  ["ΟΣ.Α", "οσα"],
  ["\ud800a", "\ud800"],
  ["a\udfff", "\udfff"],
  ["😀 a 😀", "😀 😀"],
  ["the_a", "thea"],
  // Letters newer than Unicode 14: Python 3.11 neither lowers them nor takes them for letters.
  ["\u1c89", "\u1c89"],
  ["a\u{11f02}", "\u{11f02}"],
  ["\u1ad2Σ", "\u1ad2σ"],
  ["ΑΣ\u{1c89}Α", "ας\u{1c89}α"],
];

describe("squad", () => {
  test.each(golden)("%j → %j", (text, expected) => expect(normalize(text)).toBe(expected));

  test("is idempotent on text without articles hidden by punctuation, and leaves no capital ASCII or edge space", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const once = normalize(text);
        expect(once).toBe(normalize(` ${text}\t`));
        expect(once).not.toMatch(/[A-Z!-/:-@[-`{-~]|^ | $| {2}/);
      }),
    );
  });

  test("the ASCII shortcut agrees with the general rule", () => {
    const words = fc.constantFrom("a", "an", "the", "The", "x", ".", "-", " ", "_", "1", "\t");
    fc.assert(
      fc.property(fc.array(words), (parts) => {
        const text = parts.join("");
        // A letter far away switches to the general rule without touching the rest.
        expect(normalize(`${text} é`)).toBe(`${normalize(text)} é`.trim());
      }),
    );
  });
});

test("an unknown id names the known ones", () => {
  expect(() => normalizerOf("sqaud")).toThrow(ConfigError);
  expect(() => normalizerOf("toString")).toThrow(/expected squad/);
});
