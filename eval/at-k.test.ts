import { expect, test } from "vitest";
import { normalizers } from "../reward/normalize.ts";
import { atK, ksOf, votesOf } from "./at-k.ts";
import { askedQuestions } from "./questions.ts";
import { record } from "./testing.ts";

const said = (place: number, ...predictions: (string | null)[]) =>
  predictions.map((prediction, sample) =>
    record(place, {
      sample,
      prediction,
      goldenAnswers: ["Paris", "City of Paris"],
      em: /paris/i.test(prediction ?? "") ? 1 : 0,
    }),
  );

test("answers vote under the normaliser; what normalises to nothing, or is missing, abstains", () => {
  const [question] = askedQuestions(said(0, "The Paris", "paris.", "Rome", "the", null, "city of Paris"));
  expect(votesOf(question!, normalizers.squad)).toEqual({
    votes: [
      { count: 2, right: true },
      { count: 1, right: false },
      { count: 1, right: true },
    ],
    abstentions: 2,
  });
  // `strict` keeps "the" as an answer.
  expect(votesOf(question!, normalizers.strict).abstentions).toBe(1);
});

test("avg, pass, all and maj at each k, over the questions that have k samples", () => {
  const questions = askedQuestions([
    ...said(0, "Paris", "Rome", "Paris", "Oslo"),
    ...said(1, "Rome", "Rome", "Paris"),
  ]);
  const at = atK(questions, 4, normalizers.squad);
  expect(Object.keys(at)).toEqual(["1", "2", "4"]);
  expect(at["4"]).toEqual({ n: 1, avg: 0.5, pass: 1, all: 0, maj: 1 });
  expect(at["1"]).toMatchObject({ n: 2, avg: (0.5 + 1 / 3) / 2 });
  expect(at["1"]?.maj).toBeCloseTo((0.5 + 1 / 3) / 2, 12);
  expect(at["2"]?.pass).toBeCloseTo((5 / 6 + 2 / 3) / 2, 12);
  expect(at["2"]?.all).toBeCloseTo((1 / 6 + 0) / 2, 12);
  // Two of four: both right 1 of 6, one right and one wrong 4 of 6 (shared), both wrong 1 of 6.
  expect(at["2"]?.maj).toBeCloseTo((1 / 6 + 2 / 6 + (2 / 3) * 0.5) / 2, 12);
});

test("no value where no question has k samples; nothing for one sample", () => {
  expect(Object.keys(atK(askedQuestions(said(0, "Paris", "Rome")), 8, normalizers.squad))).toEqual([
    "1",
    "2",
  ]);
  expect(atK(askedQuestions(said(0, "Paris")), 1, normalizers.squad)).toEqual({});
  expect(ksOf(6)).toEqual([1, 2, 4, 6]);
  expect(ksOf(1024)).toEqual([1, 2, 4, 8, 16, 32, 64, 1024]);
});
