import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Scored } from "../reward/scored.ts";
import { classify, judge, spread } from "./filter.ts";

const scored = (reward: number, exactMatch?: number, member = 0): Scored => ({
  task: { id: "t", question: "q", goldenAnswers: ["g"], dataset: "toy", hops: 1 },
  member,
  sequences: [],
  outcome: "answered",
  temperature: 1,
  seconds: 0,
  reward,
  parts: exactMatch === undefined ? { answerTag: 1 } : { exactMatch, answerTag: 1 },
});

describe("classify", () => {
  test.each([
    ["one right of two", [scored(1, 1), scored(0, 0)], "kept"],
    ["all right", [scored(1, 1), scored(1, 1)], "allRight"],
    ["all right, written twice", [scored(0.5, 1), scored(0.5, 1)], "allRight"],
    ["all wrong without a tag", [scored(0, 0), scored(0, 0)], "allWrong"],
    ["all wrong with a tag", [scored(0.1, 0), scored(0.1, 0)], "allWrong"],
    ["tags differ", [scored(0.1, 0), scored(0, 0)], "kept"],
    ["right and wrong of equal reward", [scored(0.25, 1), scored(0.25, 0)], "tie"],
    ["rounding is no signal", [scored(0.1, 0), scored(0.1 + 1e-12, 0)], "allWrong"],
    ["no exactMatch part", [scored(1), scored(1)], "tie"],
  ] as const)("%s", (_, members, verdict) => expect(classify(members, "reward")).toBe(verdict));

  test("on exact match, a shaped reward does not keep an all-right group (DAPO)", () => {
    const members = [scored(0.9, 1), scored(0.6, 1)];
    expect(classify(members, "reward")).toBe("kept");
    expect(classify(members, "exactMatch")).toBe("allRight");
  });

  test("an unknown metric names those there are", () => {
    expect(() => classify([scored(1, 1), scored(1, 1)], "exactMach")).toThrow(/exactMatch, answerTag/);
  });
});

describe("judge", () => {
  test.each(["spread", "correct", "none"] as const)(
    "%s: a group of one or none has no baseline",
    (filter) => {
      expect(judge([scored(1, 1)], { filter, filterMetric: "reward" })).toBe("tooFew");
      expect(judge([], { filter, filterMetric: "reward" })).toBe("tooFew");
    },
  );

  test("each filter reads two wrong members of unequal reward in its own way", () => {
    const members = [scored(0.1, 0), scored(0, 0)];
    const by = (filter: "spread" | "correct" | "none", filterMetric = "exactMatch") =>
      judge(members, { filter, filterMetric });
    expect([by("spread", "reward"), by("spread"), by("correct"), by("none")]).toEqual([
      ...["kept", "allWrong", "allWrong", "kept"],
    ]);
  });
});

test("the share of Bernoulli groups without signal is p^G + (1−p)^G", () => {
  for (const [p, size, expected] of [
    [0.1, 8, 0.43],
    [0.3, 5, 0.17],
    [0.5, 4, 0.125],
  ] as const) {
    let share = 0;
    for (let bits = 0; bits < 2 ** size; bits++) {
      const wins = Array.from({ length: size }, (_, i) => (bits >> i) & 1);
      const right = wins.filter((win) => win === 1).length;
      const members = wins.map((win, i) => scored(win, win, i));
      if (classify(members, "reward") !== "kept") share += p ** right * (1 - p) ** (size - right);
    }
    expect(share).toBeCloseTo(expected, 2);
  }
});

test("spread is never negative and does not see order", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 })), (values) => {
      expect(spread(values)).toBeGreaterThanOrEqual(0);
      expect(spread(values.toReversed())).toBe(spread(values));
    }),
  );
  expect(spread(Array(8).fill(0.1))).toBe(0);
});
