import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RewardError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { rewardPresetOf } from "./presets.ts";
import { partsOf, type Weighing, weigh, weighGroup, weightAt } from "./weigh.ts";

const weighing = (over: Partial<Weighing>): Weighing => ({
  ...{ weights: { a: 1, b: 0.5 }, gates: {}, combination: "sum", maxDivisor: 1 },
  ...over,
});
const one = (raw: Record<string, number>, over: Partial<Weighing> = {}, step = 0) =>
  weigh(raw, weighing(over), step, "here");

describe("schedules", () => {
  const base = { from: 1, to: 0, start: 10, steps: 100, shape: "linear" } as const;
  test.each([
    [base, 0, 1],
    [base, 10, 1],
    [base, 35, 0.75],
    [base, 110, 0],
    [base, 1000, 0],
    [{ ...base, shape: "cosine" } as const, 60, 0.5],
    [{ ...base, shape: "cosine" } as const, 35, 0.5 + Math.SQRT2 / 4],
    [{ ...base, shape: "step" } as const, 109, 1],
    [{ ...base, shape: "step" } as const, 110, 0],
    [{ ...base, steps: 0 }, 9, 1],
    [{ ...base, steps: 0 }, 10, 0],
    [0.3, 7, 0.3],
  ])("%j after %i updates: %f", (weight, step, expected) =>
    expect(weightAt(weight, step)).toBeCloseTo(expected, 12),
  );

  test("the step reaches the reward", () => {
    const weights = { a: 1, b: { ...base, start: 0 } };
    expect([0, 50, 100].map((step) => one({ a: 1, b: 1 }, { weights }, step))).toEqual([2, 1.5, 1]);
  });
});

describe("gates", () => {
  test("a part counts only where every `only` is 1 and no `unless` is", () => {
    const gates = { b: { only: ["ok", "fine"], unless: ["bad"] } };
    const reward = (ok: number, fine: number, bad: number) => one({ a: 1, b: 1, ok, fine, bad }, { gates });
    expect(reward(1, 1, 0)).toBe(1.5);
    expect([reward(0, 1, 0), reward(1, 0.9, 0), reward(1, 1, 1)]).toEqual([1, 1, 1]);
  });

  test("what a gate looks at is computed too", () => {
    const gates = { b: { only: ["ok"] }, unweighed: { only: ["never"] } };
    expect(partsOf(weighing({ gates }))).toEqual(["a", "b", "ok"]);
  });
});

test("combinations and the divisor", () => {
  expect(one({ a: 1, b: 1 })).toBe(1.5);
  expect(one({ a: 0, b: 1 }, { combination: "best" })).toBe(0.5);
  expect(one({ a: 1, b: 1, answers: 3 }, { maxDivisor: 2 })).toBe(0.75);
  expect(one({ a: 1, b: 1, answers: 0 }, { maxDivisor: 4 })).toBe(1.5);
});

test("a part that is missing or no number is an error that names the episode", () => {
  expect(() => one({ a: 1 })).toThrow(RewardError);
  expect(() => one({ a: 1, b: Number.NaN })).toThrow(/here.*not a finite number.*NaN/);
  expect(() => weighGroup([{ a: 1, b: 1 }, { a: 1 }], weighing({}), 0, "there")).toThrow(/there/);
});

describe("gdpo", () => {
  test("each part is a z-score in its group before its weight: a tag's 0.1 says no less and no more than its weight", () => {
    const raws = [1, 0, 0, 0].map((a, i) => ({ a, b: i % 2 }));
    const [first, second] = weighGroup(raws, weighing({ combination: "gdpo" }), 0, "") as [number, number];
    // (1, 0, 0, 0) → 1.5, −0.5…; (0, 1, 0, 1) → ∓ √3/2, with the unbiased deviation.
    expect(first).toBeCloseTo(1.5 - 0.5 * Math.sqrt(0.75), 4);
    expect(second).toBeCloseTo(-0.5 + 0.5 * Math.sqrt(0.75), 4);
  });

  test("a part that does not vary says nothing, also where rounding would make it vary", () => {
    const raws = Array.from({ length: 8 }, (_, i) => ({ a: 0.1, b: i < 4 ? 1 : 0 }));
    const rewards = weighGroup(raws, weighing({ weights: { a: 100, b: 1 } }), 0, "");
    expect(rewards[0]).toBeCloseTo(Math.sqrt(7 / 8), 4);
    expect(weighGroup([{ a: 1, b: 1 }], weighing({}), 0, "")).toEqual([0]);
  });

  test("gates and the divisor act before the scores", () => {
    const raws = [
      { a: 1, b: 0, answers: 1 },
      { a: 1, b: 0, answers: 2 },
    ];
    const rewards = weighGroup(raws, weighing({ maxDivisor: 4 }), 0, "");
    expect(rewards[0]).toBeCloseTo(Math.SQRT1_2, 4);
    const shut = weighGroup(raws, weighing({ gates: { a: { unless: ["a"] } } }), 0, "");
    expect(shut).toEqual([0, 0]);
  });
});

describe("laws", () => {
  const value = fc.integer({ min: -6400, max: 6400 }).map((n) => n / 640);
  const raws = fc.array(fc.record({ a: value, b: value }), { minLength: 2, maxLength: 8 });

  test("permutation of members leaves rewards with their members, to the last bit", () => {
    fc.assert(
      fc.property(raws, fc.integer(), (group, seed) => {
        const order = rng(seed, "order").shuffle(group.map((_, i) => i));
        for (const combination of ["best", "sum", "gdpo"] as const) {
          const w = weighing({ combination });
          const rewards = (of: typeof group) =>
            combination === "gdpo" ? weighGroup(of, w, 0, "") : of.map((raw) => weigh(raw, w, 0, ""));
          const straight = rewards(group);
          expect(rewards(order.map((i) => group[i]!))).toEqual(order.map((i) => straight[i]));
        }
      }),
    );
  });

  test("rewards scale with the weights: twice all weights, twice the reward", () => {
    fc.assert(
      fc.property(raws, fc.constantFrom(0.25, 2, 8), (group, factor) => {
        for (const combination of ["best", "sum", "gdpo"] as const) {
          const once = weighing({ combination });
          const more = { ...once, weights: { a: factor, b: 0.5 * factor } };
          for (const raw of group) expect(weigh(raw, more, 0, "")).toBe(factor * weigh(raw, once, 0, ""));
          const grouped = weighGroup(group, once, 0, "");
          expect(weighGroup(group, more, 0, "")).toEqual(grouped.map((reward) => factor * reward));
        }
      }),
    );
  });

  test("under sum one weight moves the reward by its part; under gdpo scaling a part's values changes next to nothing", () => {
    fc.assert(
      fc.property(raws, (group) => {
        for (const raw of group)
          expect(one(raw, { weights: { a: 3, b: 0.5 } })).toBeCloseTo(one(raw) + 2 * raw.a, 9);
        const spread = Math.max(...group.map(({ a }) => a)) - Math.min(...group.map(({ a }) => a));
        fc.pre(spread > 1);
        const scaled = weighGroup(
          group.map(({ a, b }) => ({ a: 10 * a, b })),
          weighing({}),
          0,
          "",
        );
        weighGroup(group, weighing({}), 0, "").forEach((reward, i) => {
          expect(scaled[i]).toBeCloseTo(reward, 4);
        });
      }),
    );
  });
});

test("presets are tables: search-r1-format as its code pays", () => {
  const preset = rewardPresetOf("search-r1-format");
  const pay = (exactMatch: number, format: number, answerTag: number, retrieval = 0, weight = 0) =>
    weigh(
      { exactMatch, format, answerTag, retrieval, answers: answerTag },
      { ...preset, weights: { ...preset.weights, retrieval: weight } },
      0,
      "",
    );
  expect(pay(1, 1, 1)).toBe(1);
  expect(pay(1, 0, 1)).toBeCloseTo(0.8, 12);
  expect(pay(0, 1, 1)).toBeCloseTo(0.2, 12);
  expect(pay(0, 1, 1, 1, 0.1)).toBeCloseTo(0.3, 12);
  expect(pay(1, 1, 1, 1, 0.1)).toBe(1);
  expect(pay(0, 0, 1, 1, 0.1)).toBeCloseTo(0.1, 12);
  expect(pay(0, 0, 0)).toBe(0);
});
