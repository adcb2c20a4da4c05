import { expect, test } from "vitest";
import { rewardConfig } from "./config.ts";
import { shapesPart } from "./identity.ts";
import { mapScorer } from "./score-all.ts";
import { makeScorer } from "./scorer.ts";

const judge = { url: "http://127.0.0.1:1", model: "m" };
const identity = (reward: object) => {
  const scorer = makeScorer(rewardConfig.parse(reward));
  scorer.close?.();
  return scorer.identity;
};

test("the reward as it is in effect, in the order of names, with the sections that count", () => {
  expect(identity({})).toEqual({
    "reward.combination": "best",
    "reward.maxDivisor": 4,
    "reward.weights.answerTag": 0.1,
    "reward.weights.exactMatch": 1,
  });
  const own = { weights: { answerTag: 0.1, exactMatch: 1 }, combination: "best", maxDivisor: 4 };
  expect(JSON.stringify(identity({ preset: "search-r1", ...own }))).toBe(JSON.stringify(identity({})));
  expect(identity({ length: { maxTokens: 300 } })).toEqual(identity({}));
  expect(
    identity({
      ...{ weights: { f1: { from: 0, to: 1, steps: 10 }, length: 1 }, gates: { f1: { only: ["format"] } } },
      ...{ length: { maxTokens: 300 }, combination: "sum" },
    }),
  ).toMatchObject({
    "reward.weights.f1.to": 1,
    "reward.gates.f1.only": "format",
    "reward.length.maxTokens": 300,
  });
});

test("a judge that is asked: what changes a verdict, and nothing of how it is reached", () => {
  const asked = identity({ weights: { judge: 1 }, judge });
  expect(asked).toMatchObject({
    ...{ "judge.model": "m", "judge.marks": 10, "judge.sees": "answer", "judge.temperature": 0 },
    ...{ "judge.rubric": expect.stringMatching(/^[0-9a-f]{12}$/), "judge.version": expect.any(Number) },
  });
  expect(identity({ weights: { judge: 1 }, judge: { ...judge, url: "http://other", attempts: 9 } })).toEqual(
    asked,
  );
  const rubric = identity({ weights: { judge: 1 }, judge: { ...judge, rubric: "Is it polite?" } });
  expect(rubric?.["judge.rubric"]).not.toBe(asked?.["judge.rubric"]);
  expect(Object.keys(identity({ judge })!)).not.toContain("judge.model");
  expect(identity({ keep: ["judge"], judge })).toHaveProperty(["judge.model"], "m");
});

test("a scorer that is changed keeps it; which keys shape which part", () => {
  const scorer = makeScorer(rewardConfig.parse({}));
  expect(mapScorer(scorer, (scored) => scored).identity).toEqual(scorer.identity);
  expect(shapesPart("reward.weights.f1", "f1")).toBe(false);
  expect(shapesPart("reward.weights.f1", "reward")).toBe(true);
  expect(shapesPart("reward.repetition.ngram", "repeatedNgrams")).toBe(true);
  expect(shapesPart("judge.model", "em")).toBe(false);
  expect(shapesPart("judge.model", "judge")).toBe(true);
  expect(shapesPart("weights", "reward")).toBe(false);
});
