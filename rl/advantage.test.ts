import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantError } from "../core/errors.ts";
import { toyTrajectory } from "../reward/testing.ts";
import { advantagesOf, baselines } from "./advantage.ts";

const near = (got: number[], expected: number[], digits = 4) => {
  expect(got).toHaveLength(expected.length);
  got.forEach((value, i) => {
    expect(value).toBeCloseTo(expected[i] as number, digits);
  });
};

const golden: [number[], Record<keyof typeof baselines, number[]>][] = [
  [
    [1, 0, 0, 0],
    {
      grpo: [1.5, -0.5, -0.5, -0.5],
      drGrpo: [0.75, -0.25, -0.25, -0.25],
      rloo: [1, -0.33333, -0.33333, -0.33333],
    },
  ],
  [
    [1, 1, 1, 0],
    { grpo: [0.5, 0.5, 0.5, -1.5], drGrpo: [0.25, 0.25, 0.25, -0.75], rloo: [0.33333, 0.33333, 0.33333, -1] },
  ],
  [
    [1, 1, 0, 0],
    {
      grpo: [0.86602, 0.86602, -0.86602, -0.86602],
      drGrpo: [0.5, 0.5, -0.5, -0.5],
      rloo: [0.66667, 0.66667, -0.66667, -0.66667],
    },
  ],
  [[1, 0], { grpo: [Math.SQRT1_2, -Math.SQRT1_2], drGrpo: [0.5, -0.5], rloo: [1, -1] }],
  [
    [0.2, 0.2, 1, 0],
    {
      grpo: [-0.33824, -0.33824, 1.46571, -0.78923],
      drGrpo: [-0.15, -0.15, 0.65, -0.35],
      rloo: [-0.2, -0.2, 0.86667, -0.46667],
    },
  ],
];

describe.each(golden)("rewards %j", (rewards, expected) => {
  test.each(Object.keys(baselines) as (keyof typeof baselines)[])("%s", (name) => {
    near(baselines[name](rewards), expected[name]);
  });
});

test("a group that differs only by the 0.1 of a tag: as loud as right against wrong with std, quiet without", () => {
  const tags = [0.1, 0.1, 0.1, 0.1, 0, 0, 0, 0];
  expect(baselines.grpo(tags)[0]).toBeCloseTo(0.935, 3);
  expect(baselines.drGrpo(tags)[0]).toBeCloseTo(0.05, 12);
});

test("equal rewards give exactly zero, whatever the rounding of their mean", () => {
  for (const rewards of [Array(8).fill(0.1), Array(8).fill(0.7), Array(16).fill(1 / 3), [1, 1]])
    for (const row of Object.values(baselines)) expect(row(rewards)).toEqual(rewards.map(() => 0));
});

test("a group of one, or a reward that is no number, is a bug and throws", () => {
  for (const row of Object.values(baselines)) {
    expect(() => row([1])).toThrow(InvariantError);
    expect(() => row([])).toThrow(InvariantError);
    expect(() => row([1, Number.NaN])).toThrow(/not a finite number/);
  }
});

test("laws: sums to zero, keeps the order, does not move with a shift of all rewards", () => {
  const reward = fc.double({ min: -2, max: 2, noNaN: true });
  fc.assert(
    fc.property(fc.array(reward, { minLength: 2, maxLength: 16 }), reward, (rewards, shift) => {
      fc.pre(Math.max(...rewards) - Math.min(...rewards) > 1e-3);
      for (const row of Object.values(baselines)) {
        const a = row(rewards);
        expect(a.reduce((sum, x) => sum + x, 0)).toBeCloseTo(0, 8);
        near(row(rewards.map((r) => r + shift)), a, 6);
        const ranked = rewards.map((r, i) => [r, a[i]!] as const).sort(([r], [s]) => r - s);
        expect(ranked.every(([, x], i) => i === 0 || x >= ranked[i - 1]![1])).toBe(true);
      }
    }),
  );
});

describe("advantagesOf", () => {
  const member = (reward: number, exactMatch: number) => ({
    ...toyTrajectory([]),
    ...{ reward, parts: { exactMatch } },
  });
  const members = [member(1, 1), member(0.5, 1), member(0.1, 0), member(0, 0)];

  test("correct marks every right answer, one written twice (reward 0.5) included, and nothing else", () => {
    expect(advantagesOf("correct", members)).toEqual([1, 1, 0, 0]);
    expect(advantagesOf("correct", [member(2, 0), member(3, 1)])).toEqual([0, 1]);
  });

  test("the baselines read the reward", () => {
    near(advantagesOf("drGrpo", members), [0.6, 0.1, -0.3, -0.4]);
  });

  test("correct without the part that it reads names the part", () => {
    const bare = { ...toyTrajectory([]), reward: 1, parts: { answerTag: 1 } };
    expect(() => advantagesOf("correct", [bare, bare])).toThrow(/exactMatch/);
  });
});
