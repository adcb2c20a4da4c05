import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clippedTokens, type SurrogateInput, sequenceRatio, surrogates } from "./surrogate.ts";

const one = (ratio: number, advantage: number): SurrogateInput => ({
  logprobs: [-2 + Math.log(ratio)],
  oldLogprobs: [-2],
  advantages: [advantage],
  mask: [1],
});
const even = { clipLow: 0.2, clipHigh: 0.2 };
const higher = { clipLow: 0.2, clipHigh: 0.28 };

describe("ppoClip", () => {
  test.each([
    [1.25, 1, even, -1.2],
    [1.25, 1, higher, -1.25],
    [0.5, 1, even, -0.5],
    [0.5, -1, even, 0.8],
    [10, -1, even, 10],
    [10, -1, { ...even, dualClip: 3 }, 3],
    [10, 1, { ...even, dualClip: 3 }, -1.2],
    [1, 0.7, even, -0.7],
  ])("ratio %f, advantage %f, %j → %f", (ratio, advantage, clip, expected) => {
    expect(surrogates.ppoClip(one(ratio, advantage), clip)[0]).toBeCloseTo(expected, 10);
  });
});

test("cispo: the clipped ratio weighs the log-probability, on both sides", () => {
  expect(surrogates.cispo(one(10, 1), higher)[0]).toBeCloseTo(-1.28 * (-2 + Math.log(10)), 10);
  expect(surrogates.cispo(one(0.5, -1), higher)[0]).toBeCloseTo(0.8 * (-2 + Math.log(0.5)), 10);
});

test("reinforce: −A·log π, whatever π_old", () => {
  expect(surrogates.reinforce(one(3, 2), even)[0]).toBeCloseTo(-2 * (-2 + Math.log(3)), 10);
});

describe("gspo", () => {
  const sequence = (differences: number[], advantage: number): SurrogateInput => ({
    // A masked token in front, with a wild ratio that must not count.
    logprobs: [5, ...differences],
    oldLogprobs: [0, ...differences.map(() => 0)],
    advantages: [0, ...differences.map(() => advantage)],
    mask: [0, ...differences.map(() => 1)],
  });

  test("the ratio is the geometric mean, not the product", () => {
    expect(sequenceRatio(sequence([0.8, -0.2, 0.3], 1))).toBeCloseTo(1.34986, 5);
    expect(sequenceRatio(sequence([0.2, -0.1, 0.05], 1))).toBeCloseTo(1.051271, 6);
    expect(sequenceRatio({ logprobs: [1], oldLogprobs: [0], advantages: [1], mask: [0] })).toBe(1);
  });

  test("one ratio and one clip for every policy token", () => {
    const clip = { clipLow: 3e-4, clipHigh: 4e-4 };
    expect(surrogates.gspo(sequence([0.8, -0.2, 0.3], 1), clip)).toEqual([0, -1.0004, -1.0004, -1.0004]);
    expect(surrogates.gspo(sequence([0.8, -0.2, 0.3], -1), clip)[1]).toBeCloseTo(1.34986, 5);
  });
});

test("clipped tokens by side: only where the clip takes the gradient away", () => {
  const input: SurrogateInput = {
    logprobs: [2, 1.25, 0.5, 0.5, 9].map((ratio) => Math.log(ratio)),
    oldLogprobs: [0, 0, 0, 0, 0],
    advantages: [-1, 1, -1, 1, 1],
    mask: [1, 1, 1, 1, 0],
  };
  expect(clippedTokens(input, even)).toEqual({ low: 1, high: 1, tokens: 4 });
  expect(clippedTokens(input, higher)).toEqual({ low: 1, high: 0, tokens: 4 });
});

test("laws: masked tokens give 0; at ρ = 1 ppoClip and gspo are −A; ppoClip is never below the unclipped loss", () => {
  const token = fc.record({
    old: fc.double({ min: -8, max: 0, noNaN: true }),
    delta: fc.double({ min: -2, max: 2, noNaN: true }),
    advantage: fc.double({ min: -2, max: 2, noNaN: true }),
    m: fc.constantFrom(0, 1),
  });
  fc.assert(
    fc.property(fc.array(token, { minLength: 1, maxLength: 12 }), (tokens) => {
      const mask = tokens.map((t) => t.m);
      const advantages = tokens.map((t) => t.advantage);
      const oldLogprobs = tokens.map((t) => t.old);
      const moved = { logprobs: tokens.map((t) => t.old + t.delta), oldLogprobs, advantages, mask };
      const still = { ...moved, logprobs: oldLogprobs };
      for (const surrogate of Object.values(surrogates))
        surrogate(moved, even).forEach((loss, t) => {
          if (mask[t] === 0) expect(loss).toBe(0);
        });
      tokens.forEach((t, i) => {
        if (t.m === 0) return;
        expect(surrogates.ppoClip(still, even)[i]).toBeCloseTo(-t.advantage, 12);
        expect(surrogates.gspo(still, even)[i]).toBeCloseTo(-t.advantage, 12);
        expect(surrogates.ppoClip(moved, even)[i]).toBeGreaterThanOrEqual(
          -t.advantage * Math.exp(t.delta) - 1e-9,
        );
      });
    }),
  );
});
