import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { goldOf, scoreAnswer } from "./answers.ts";
import { normalizers } from "./normalize.ts";

const squad = normalizers.squad;
const score = (prediction: string | undefined, ...golds: string[]) =>
  scoreAnswer(prediction, goldOf(golds, squad), squad);

describe("scoreAnswer", () => {
  test("any alias counts", () => {
    expect(score("NYC", "New York City", "NYC")).toEqual({ em: 1, f1: 1, coverEm: 1 });
    expect(score("The Blue Album", "Weezer").em).toBe(0);
  });

  test("F1 counts repeated words, as SQuAD's Counter does", () => {
    expect(score("new york new york", "new york").f1).toBeCloseTo(2 / 3, 12);
    expect(score("the cat sat", "a cat ran").f1).toBeCloseTo(0.5, 12);
    expect(score("Barack Hussein Obama", "Barack Obama")).toEqual({ em: 0, f1: 0.8, coverEm: 0 });
  });

  test("yes, no and noanswer match whole or not at all (HotpotQA)", () => {
    expect(score("yes it is", "yes")).toEqual({ em: 0, f1: 0, coverEm: 1 });
    expect(score("Yes.", "yes")).toEqual({ em: 1, f1: 1, coverEm: 1 });
    expect(score("no", "no way").f1).toBe(0);
  });

  test("negative numbers lose their sign: SQuAD deletes the hyphen", () => {
    expect(score("-5", "5").em).toBe(1);
    expect(score("The answer is yes", "yes").em).toBe(0);
  });

  test("an empty or absent prediction scores 0, whatever the gold", () => {
    for (const nothing of [undefined, "", " ", "the", "..."])
      for (const gold of [["the", "A"], ["Paris"], ["the", "Paris"]])
        expect(score(nothing, ...gold)).toEqual({ em: 0, f1: 0, coverEm: 0 });
  });

  test("cover match looks at code points, not at halves of a surrogate pair", () => {
    expect(score("y \u{103ff} z", "\udfff").coverEm).toBe(0);
    expect(score("y \udfff z", "\udfff z").coverEm).toBe(1);
  });

  test("an alias that normalises to nothing is dropped and counted", () => {
    expect(goldOf(["The", "Who", "who!", "..."], squad)).toEqual({
      answers: ["who"],
      words: [["who"]],
      dropped: 2,
    });
    expect(score("anything", "The").coverEm).toBe(0);
  });

  test("laws: 0 ≤ f1 ≤ 1; em ≤ f1 and em ≤ coverEm; an alias matches itself; F1 is symmetric", () => {
    const word = fc.constantFrom("the", "New", "york", "a", "city", "yes", "é", "-");
    const text = fc.array(word, { maxLength: 5 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(text, text, (a, b) => {
        const ab = score(a, b);
        expect(ab.f1).toBeGreaterThanOrEqual(ab.em);
        expect(ab.f1).toBeLessThanOrEqual(1);
        expect(ab.coverEm).toBeGreaterThanOrEqual(ab.em);
        expect(score(b, a).f1).toBe(ab.f1);
        expect(score(a, a, b).em).toBe(squad.normalize(a) === "" ? 0 : 1);
      }),
    );
  });
});
