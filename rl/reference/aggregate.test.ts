import fc from "fast-check";
import { expect, test } from "vitest";
import { type AggregationName, aggregate, aggregations } from "./aggregate.ts";

const losses = [
  [1, 1],
  [2, 2, 2, 2, 2, 2, 2, 2],
];
const lengths = [2, 8];

test.each([
  ["tokenMean", {}, 1.8],
  ["tokenMeanSampled", { sampledTokens: 20 }, 0.9],
  ["seqMeanTokenMean", {}, 1.5],
  ["seqMeanTokenSum", {}, 9],
  ["constant", { constantTokens: 10 }, 0.9],
  ["constant", { constantTokens: 16 }, 0.5625],
] as [AggregationName, object, number][])("%s %j → %f", (name, denominators, expected) => {
  const weights = aggregations[name](lengths, denominators);
  expect(aggregate(losses, weights)).toBeCloseTo(expected, 12);
  // Two micro-batches of one sequence: the same number, where a mean of means gives 1.5 for tokenMean.
  const parts = losses.map((row, i) => aggregate([row], [weights[i]!]));
  expect(parts[0]! + parts[1]!).toBeCloseTo(expected, 12);
});

test("ten tokens of loss 1 beside a thousand of loss 0 → 0.0099, not 0.5", () => {
  const rows = [Array<number>(10).fill(1), Array<number>(1000).fill(0)];
  expect(aggregate(rows, aggregations.tokenMean([10, 1000]))).toBeCloseTo(0.0099, 4);
});

test("a sequence without policy tokens changes nothing, and a step of such is 0", () => {
  const denominators = { sampledTokens: 20, constantTokens: 10 };
  for (const name of Object.keys(aggregations) as AggregationName[]) {
    const without = aggregate(losses, aggregations[name](lengths, denominators));
    const withEmpty = aggregate([...losses, [0, 0, 0]], aggregations[name]([...lengths, 0], denominators));
    expect(withEmpty).toBeCloseTo(without, 12);
    expect(aggregate([[0]], aggregations[name]([0], denominators))).toBe(0);
  }
});

test("a missing denominator is an error, not a silent 1", () => {
  expect(() => aggregations.constant([1])).toThrow(/constantTokens/);
  expect(() => aggregations.tokenMeanSampled([1], { sampledTokens: 0 })).toThrow(/sampledTokens/);
});

test("a constant loss is its own mean, and at ρ = 1 the sequence mean of centred advantages is 0", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 8 }), (sizes) => {
      const constant = sizes.map((n) => Array<number>(n).fill(-0.3));
      for (const name of ["tokenMean", "seqMeanTokenMean"] as const)
        expect(aggregate(constant, aggregations[name](sizes))).toBeCloseTo(-0.3, 10);
      const mean = sizes.reduce((sum, n) => sum + n, 0) / sizes.length;
      const centred = sizes.map((n) => Array<number>(n).fill(mean - n));
      expect(aggregate(centred, aggregations.seqMeanTokenMean(sizes))).toBeCloseTo(0, 8);
    }),
  );
});
