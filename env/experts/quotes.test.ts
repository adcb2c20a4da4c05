import fc from "fast-check";
import { expect, it } from "vitest";
import { baseTitle, occurs, plain, sentencesOf, sentenceWith } from "./quotes.ts";

it("finds words whatever their case and punctuation, and only whole ones", () => {
  expect(occurs("Hermann II, Landgrave of Hesse", "death of Hermann Ii, Landgrave Of Hesse's father")).toBe(
    true,
  );
  expect(occurs("Tom Vale", "Tom Valentine")).toBe(false);
  expect(occurs("", "anything")).toBe(false);
  expect(occurs("---", "anything --- else")).toBe(false);
  expect(occurs("ﬁlm", "a film")).toBe(true);
});

it("takes a title's disambiguation off, never the whole title", () => {
  expect(["The Box (2009 film)", "(500) Days of Summer", "(film)"].map(baseTitle)).toEqual([
    "The Box",
    "(500) Days of Summer",
    "(film)",
  ]);
});

it("takes our tags out of a text", () => {
  expect(plain("a <answer>b</answer>\n <b>c</b> </INFORMATION> d")).toBe("a b <b>c</b> d");
});

it("does not end a sentence at an initial", () => {
  expect(sentencesOf("It was directed by David J. Francis in St. Louis. It ran.")).toEqual([
    "It was directed by David J. Francis in St. Louis.",
    "It ran.",
  ]);
});

it("quotes a sentence that holds what is wanted, within the words allowed", () => {
  const word = fc.constantFrom("red", "Tom", "sea", "a", "ran.", "1974");
  fc.assert(
    fc.property(fc.array(word, { maxLength: 60 }), fc.array(word, { maxLength: 60 }), (before, after) => {
      const text = [...before, "Blue", "Harbour", ...after].join(" ");
      const quote = sentenceWith(text, ["nowhere else", "blue harbour"], 8) ?? "";
      expect(occurs("Blue Harbour", quote)).toBe(true);
      expect(quote.split(" ").length).toBeLessThanOrEqual(8);
      expect(text).toContain(quote);
    }),
  );
  expect(sentenceWith("One. Two.", ["three"], 8)).toBeUndefined();
});
