import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { normalizerOf, normalizers } from "./normalize.ts";
import { splitWords } from "./unicode.ts";

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
  // ʕ was a lower-case letter then, and U+1171E a mark: both decide whether a sigma is a final one.
  ["ʕΣ", "ʕς"],
  ["Α\u{1171e}Σ", "α\u{1171e}ς"],
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

/** Values printed by Python 3.11 (bench/peers/normalizers.py). */
const others: Readonly<Record<"r1-searcher" | "strict", [string, string][]>> = {
  "r1-searcher": [
    ["True", "yes"],
    ["False", "no"],
    ["true", "true"],
    ["U.S.", "u s"],
    ["The A-Team", "team"],
    ["snake_case", "snake case"],
    ["O’Neill", "o neill"],
    ["O'Neill", "o neill"],
    ["1,000.5", "1 000 5"],
    ["‘a’ b", "b"],
    ["The", ""],
    ["C++", "c"],
    ["−5", "−5"],
    ["+5%", "5"],
    ["the The", ""],
    ["(the) Who?", "who"],
    ["?!", ""],
    ["...", ""],
    ["$1,234,567.", "1 234 567"],
    ["1,2,3", "1 2 3"],
    [".5", "5"],
    ["“Paris”", "“paris”"],
    ["Ａ４", "ａ４"],
    ["C#.", "c"],
    ["a", ""],
    ["Vitamin A", "vitamin"],
    ["10–12", "10–12"],
    ["“The Who”", "“ who”"],
    ["AT&T", "at t"],
    ["ʕΣ", "ʕς"],
    ["ﬁve", "ﬁve"],
    ["½", "½"],
    ["1,0000", "1 0000"],
  ],
  strict: [
    ["True", "true"],
    ["False", "false"],
    ["true", "true"],
    ["U.S.", "u.s"],
    ["The A-Team", "a-team"],
    ["snake_case", "snake_case"],
    ["O’Neill", "o'neill"],
    ["O'Neill", "o'neill"],
    ["1,000.5", "1000.5"],
    ["‘a’ b", "b"],
    ["The", "the"],
    ["C++", "c++"],
    ["−5", "-5"],
    ["+5%", "+5%"],
    ["the The", "the"],
    ["(the) Who?", "who"],
    ["?!", "?!"],
    ["...", "..."],
    ["$1,234,567.", "$1234567"],
    ["1,2,3", "1,2,3"],
    [".5", ".5"],
    ["“Paris”", "paris"],
    ["Ａ４", "a4"],
    ["C#.", "c#"],
    ["a", "a"],
    ["Vitamin A", "vitamin a"],
    ["10–12", "10-12"],
    ["“The Who”", "who"],
    ["AT&T", "at&t"],
    ["ʕΣ", "ʕς"],
    ["ﬁve", "five"],
    ["½", "1⁄2"],
    ["1,0000", "1,0000"],
  ],
};

describe.each(Object.entries(others))("%s", (id, rows) => {
  test.each(rows)("%j → %j", (text, expected) => expect(normalizerOf(id).normalize(text)).toBe(expected));
});

describe("strict", () => {
  test("never empties a string: only white space becomes nothing", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc
        .array(fc.constantFrom("a", "the", ".", "?", " ", "“", "\t", "-", "("))
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(text, (given) => {
        const blank = splitWords(given).length === 0;
        expect(normalizers.strict.normalize(given) === "").toBe(blank);
      }),
    );
  });

  test("keeps apart what squad takes for the same, and takes for the same what is", () => {
    const { strict, squad } = normalizers;
    for (const [a, b] of [
      ["-5", "5"],
      ["C++", "C"],
      ["3.14", "314"],
      ["Vitamin A", "Vitamin"],
    ] as const) {
      expect(squad.normalize(a)).toBe(squad.normalize(b));
      expect(strict.normalize(a)).not.toBe(strict.normalize(b));
    }
    for (const [a, b] of [
      ["1,000", "1000"],
      ["−5", "-5"],
      ["“Paris”", "Paris."],
      ["The Beatles", "beatles"],
      ["１２", "12"],
    ] as const)
      expect(strict.normalize(a)).toBe(strict.normalize(b));
  });
});

test("every row is found under its own id, with a version", () => {
  for (const [id, row] of Object.entries(normalizers)) {
    expect(normalizerOf(id)).toBe(row);
    expect(row).toMatchObject({ id, version: 1 });
  }
  for (const text of ["The A-Team", "U.S."])
    expect(normalizers.flashrag.normalize(text)).toBe(normalizers.squad.normalize(text));
});

test("an unknown id names the known ones", () => {
  expect(() => normalizerOf("sqaud")).toThrow(ConfigError);
  expect(() => normalizerOf("toString")).toThrow(/expected squad/);
});
