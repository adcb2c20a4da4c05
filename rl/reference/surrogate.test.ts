import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clipRules, type SurrogateInput, sequenceRatio, surrogates } from "./surrogate.ts";

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

describe("what each surrogate clips", () => {
  const input: SurrogateInput = {
    logprobs: [2, 1.25, 0.5, 0.5, 9, 1.25].map((ratio) => Math.log(ratio)),
    oldLogprobs: [0, 0, 0, 0, 0, 0],
    advantages: [-1, 1, -1, 1, 1, 0],
    mask: [1, 1, 1, 1, 0, 1],
  };

  test("ppoClip: only where the clip takes the gradient away", () => {
    expect(clipRules.ppoClip!(input, even)).toEqual([0, 1, -1, 0, 0, 0]);
    expect(clipRules.ppoClip!(input, higher)).toEqual([0, 0, -1, 0, 0, 0]);
  });

  test("cispo: both sides, whatever the sign of the advantage", () => {
    expect(clipRules.cispo!(input, even)).toEqual([1, 1, -1, -1, 0, 1]);
  });

  test("gspo: a whole sequence by its own ratio, or none of it", () => {
    // Geometric mean of the five ratios: (2·1.25·0.5·0.5·1.25)^(1/5) = 0.951; no token's own ratio matters.
    expect(clipRules.gspo!(input, even)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(clipRules.gspo!(input, { clipLow: 0.01, clipHigh: 0.01 })).toEqual([-1, 0, -1, 0, 0, 0]);
  });

  test("reinforce has nothing to clip", () => expect(clipRules.reinforce).toBeUndefined());

  test("a token is clipped exactly where the loss stops following its ratio", () => {
    for (const name of ["ppoClip", "gspo"] as const)
      for (const advantage of [-1, 1])
        for (const ratio of [0.5, 0.79, 0.81, 1, 1.19, 1.21, 2]) {
          const at = (r: number) => surrogates[name](one(r, advantage), even)[0]!;
          const flat = Math.abs(at(ratio * 1.001) - at(ratio)) < 1e-12;
          expect(
            clipRules[name]!(one(ratio, advantage), even)[0] !== 0,
            `${name} ${advantage} ${ratio}`,
          ).toBe(flat);
        }
  });
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
