import { expect, test } from "vitest";
import { softOverlong } from "../reward/length.ts";
import type { Scorer } from "../reward/scored.ts";
import { toyTrajectory } from "../reward/testing.ts";
import { rlConfig } from "./config.ts";
import { scorerOf } from "./overlong.ts";

test.each([
  [80, 0],
  [85, -0.25],
  [90, -0.5],
  [100, -1],
  [101, -1],
  [0, 0],
])("L_max 100, buffer 20: %i tokens → %f", (tokens, expected) => {
  expect(softOverlong(tokens, 100, 20)).toBeCloseTo(expected, 12);
});

test.each([
  [16384, 0],
  [18432, -0.5],
  [20480, -1],
  [20481, -1],
])("L_max 20480, buffer 4096 (DAPO's own): %i → %f", (tokens, expected) => {
  expect(softOverlong(tokens, 20480, 4096)).toBeCloseTo(expected, 12);
});

test("a buffer of 0, or longer than the limit, throws", () => {
  expect(() => softOverlong(1, 10, 0)).toThrow(/out of range/);
  expect(() => softOverlong(1, 10, 11)).toThrow(/out of range/);
});

const score: Scorer = (t) => ({ ...t, parts: { exactMatch: 1 }, reward: 1 });
/** 12 + 3 policy tokens, 40 of an observation. */
const long = toyTrajectory(["p".repeat(12), ["observation", "o".repeat(40)], "abc"]);

test("penalty is a part of its own and is added to the reward; observations do not count", () => {
  const config = rlConfig.parse({ overlong: "penalty", overlongTokens: 20, overlongBuffer: 10 });
  expect(scorerOf({ score, config })(long)).toMatchObject({
    parts: { exactMatch: 1, overlong: -0.5 },
    reward: 0.5,
  });
});

test.each(["score", "mask"])("%s leaves the scorer as it is", (overlong) => {
  expect(
    scorerOf({ score, config: rlConfig.parse({ overlong, overlongTokens: 1, overlongBuffer: 1 }) }),
  ).toBe(score);
});
