import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maxTermLength, passageTerms, queryTerms, terms } from "./terms.ts";

describe("terms", () => {
  it.each([
    ["Who directed “Modern Husbands”?", ["who", "directed", "modern", "husbands"]],
    ["It's 3.14, AC/DC & R2-D2", ["it", "s", "3", "14", "ac", "dc", "r2", "d2"]],
    ["Bjørn Łukasz Đorđe Æsop Straße", ["bjorn", "lukasz", "dorde", "aesop", "strasse"]],
    ["Luis Bayón Herrera", ["luis", "bayon", "herrera"]],
    ["İstanbul ISPARTA", ["istanbul", "isparta"]],
    ["東京 is 首都", ["東", "京", "is", "首", "都"]],
    ["Ελλάδα Москва", ["ελλαδα", "москва"]],
    ["ﬁlm №5 ½", ["film", "no5", "1", "2"]],
    ["nul\u0000byte", ["nul", "byte"]],
    ["?!… — «»", []],
    ["", []],
  ])("%j", (text, expected) => {
    expect(terms(text)).toEqual(expected);
  });

  it("cuts runs that are no words, never inside a surrogate pair", () => {
    expect(terms("x".repeat(1000))).toEqual(["x".repeat(maxTermLength)]);
    const [cut] = terms(`a${"𐐨".repeat(100)}`); // a letter outside the basic plane: two units each
    expect(cut).toBe(`a${"𐐨".repeat((maxTermLength - 2) / 2)}`);
  });

  it("gives the same terms for the same text written in another normal form or case", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(terms(text.normalize("NFD"))).toEqual(terms(text.normalize("NFC")));
      }),
    );
  });

  it("reads its own terms back unchanged, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const found = terms(text);
        expect(terms(found.join(" "))).toEqual(found);
        for (const term of found) expect(term).not.toMatch(/\s|^$/u);
      }),
    );
  });

  it("counts a repeated word of a query once and searches title and text", () => {
    expect(queryTerms("Star star STAR of")).toEqual(["star", "of"]);
    expect(passageTerms({ title: "Lambda", text: "a star" })).toEqual(["lambda", "a", "star"]);
  });
});
