import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError, RewardError } from "../core/errors.ts";
import { rewardConfig } from "./config.ts";
import { makeScorer } from "./scorer.ts";
import { toyTask, toyTrajectory } from "./testing.ts";

const right = "<answer>ada lovelace</answer>";
const wrong = "<answer>Byron</answer>";
const scorer = (config: object = {}, own = {}) => makeScorer(rewardConfig.parse(config), own);
const reward = (turns: string[], config: object = {}) => scorer(config)(toyTrajectory(turns)).reward;

describe("dmi", () => {
  test.each([
    ["right", [right], 1],
    ["right in two tags", [right, right], 1 / 2],
    ["right in three", [right, right, right], 1 / 3],
    ["right in four", [right, right, right, right], 1 / 4],
    ["right in nine: at most by 4", Array(9).fill(right), 1 / 4],
    ["wrong with a tag", [wrong], 0.1],
    ["wrong in two tags", [wrong, wrong], 0.05],
    ["the last is judged: wrong then right", [wrong, right], 0.5],
    ["the last is judged: right then wrong", [right, wrong], 0.05],
    ["no tag", ["Ada Lovelace"], 0],
    ["an empty tag is a tag", ["<answer></answer>"], 0.1],
    ["only in think", [`<think>${right}</think>`], 0],
    ["unclosed", ["<answer>Ada Lovelace"], 0],
  ])("%s", (_, turns, expected) => expect(reward(turns as string[])).toBeCloseTo(expected, 12));

  test("every part is kept raw, the prediction as written", () => {
    const scored = scorer()(toyTrajectory([wrong, "<answer> Ada King Lovelace </answer>"]));
    expect(scored.parts).toEqual({ exactMatch: 0, f1: 0.8, coverMatch: 0, answerTag: 1, answers: 2 });
    expect(scored.prediction).toBe("Ada King Lovelace");
    expect(scorer()(toyTrajectory(["hm"]))).not.toHaveProperty("prediction");
  });

  test("a passage with the gold answer in a tag earns nothing", () => {
    const trajectory = toyTrajectory(["<search>q</search>", ["observation", right]], {
      outcome: "turn_limit",
    });
    expect(scorer()(trajectory).reward).toBe(0);
  });

  test("outcomes of the policy are scored by the rules: turn limit and length are no special zeros", () => {
    for (const outcome of ["turn_limit", "length", "invalid", "no_answer"] as const)
      expect(scorer()(toyTrajectory([right], { outcome })).reward).toBe(1);
  });
});

test("search-r1: exact match alone, never divided", () => {
  expect(reward([right, right], { preset: "search-r1" })).toBe(1);
  expect(reward([wrong], { preset: "search-r1" })).toBe(0);
});

test("every option changes a reward", () => {
  expect(reward([wrong], { weights: { exactMatch: 1, answerTag: 0.3 } })).toBeCloseTo(0.3, 12);
  expect(reward([right], { combination: "sum" })).toBeCloseTo(1.1, 12);
  expect(reward([right, right, right], { maxDivisor: 2 })).toBe(0.5);
  expect(reward([right, wrong], { extraction: "first" })).toBe(0.5);
  expect(reward([right, wrong], { extraction: "only" })).toBeCloseTo(0.05, 12);
  expect(reward(["<answer>Lovelace</answer>"], { weights: { f1: 1 } })).toBeCloseTo(2 / 3, 12);
});

test("a part of one's own, by name; a name of ours or one that does not exist is the user's mistake", () => {
  const short = (_: unknown, { prediction }: { prediction?: string }) =>
    (prediction ?? "").length < 15 ? 1 : 0;
  const scored = scorer(
    { weights: { exactMatch: 1, short: 0.5 }, combination: "sum" },
    { short },
  )(toyTrajectory([right]));
  expect(scored.parts.short).toBe(1);
  expect(scored.reward).toBe(1.5);
  expect(() => scorer({}, { f1: short })).toThrow(ConfigError);
  expect(() => scorer({ weights: { exactMach: 1 } })).toThrow(/Did you mean `exactMatch`/);
  expect(() => scorer({ weights: { bad: 1 } }, { bad: () => Number.NaN })(toyTrajectory([right]))).toThrow(
    RewardError,
  );
});

test("failed and cancelled episodes have no reward, and a question without gold has none", () => {
  for (const outcome of ["infra(model)", "infra(retriever)", "cancelled"] as const)
    expect(() => scorer()(toyTrajectory([right], { outcome }))).toThrow(RewardError);
  const task = { ...toyTask, goldenAnswers: ["The", "..."] };
  expect(() => scorer()(toyTrajectory(["<answer></answer>"], { task }))).toThrow(/without gold/);
});

test("unknown keys and values of the section are refused", () => {
  for (const bad of [
    { presett: "dmi" },
    { preset: "dmy" },
    { maxDivisor: 0 },
    { normalizer: "squadd" },
    { weights: { f1: "x" } },
  ])
    expect(rewardConfig.safeParse(bad).success).toBe(false);
});

test("laws of dmi: pure, within [0, 1], a right last answer beats a wrong one after the same turns", () => {
  const score = scorer();
  const turn = fc.constantFrom(right, wrong, "<answer></answer>", "<search>q</search>", "<think>", "x");
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 6 }), (turns) => {
      const trajectory = toyTrajectory(turns);
      const once = score(trajectory);
      expect(score(trajectory)).toEqual(once);
      expect(once.reward).toBeGreaterThanOrEqual(0);
      expect(once.reward).toBeLessThanOrEqual(1);
      expect(reward([...turns, right])).toBeGreaterThan(reward([...turns, wrong]));
    }),
  );
});
