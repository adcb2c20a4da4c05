import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apart, rateOf, wilson } from "./wilson.ts";

describe("wilson", () => {
  // Newcombe 1998, Statistics in Medicine 17, table I, method 3; the last two from Wilson's formula at p = 0.
  test.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
    [29, 29, 0.883, 1],
    [0, 10, 0, 0.2775],
    [5, 10, 0.2366, 0.7634],
  ])("%i of %i → [%f, %f]", (successes, n, low, high) => {
    expect(wilson(successes, n).low).toBeCloseTo(low, 4);
    expect(wilson(successes, n).high).toBeCloseTo(high, 4);
  });

  test("nothing measured is [0, 1]; impossible counts throw", () => {
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 });
    expect(() => wilson(3, 2)).toThrow(/successes/);
    expect(() => wilson(Number.NaN, 2)).toThrow(/successes/);
  });

  test("laws: holds the rate, lies in [0, 1], mirrors, and narrows with n", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (n, share) => {
          const successes = Math.round(share * n);
          const { low, high } = wilson(successes, n);
          expect(low).toBeGreaterThanOrEqual(0);
          expect(low).toBeLessThanOrEqual(successes / n);
          expect(high).toBeGreaterThanOrEqual(successes / n);
          expect(high).toBeLessThanOrEqual(1);
          const mirror = wilson(n - successes, n);
          expect(1 - mirror.high).toBeCloseTo(low, 10);
          const more = wilson(4 * successes, 4 * n);
          expect(more.high - more.low).toBeLessThan(high - low);
        },
      ),
    );
  });
});

test("rateOf averages fractions and survives rounding past n", () => {
  expect(rateOf([1, 0, 0.5, 0.5])).toMatchObject({ n: 4, em: 0.5 });
  expect(rateOf([])).toEqual({ n: 0, em: 0, low: 0, high: 1 });
  const thirds = Array<number>(9).fill(1 / 3 + 1 / 3 + 1 / 3 + 2e-16);
  expect(rateOf(thirds).high).toBe(1);
});

test("intervals that share a point are not apart", () => {
  expect(apart({ low: 0.1, high: 0.2 }, { low: 0.2, high: 0.3 })).toBe(false);
  expect(apart({ low: 0.1, high: 0.2 }, { low: 0.21, high: 0.3 })).toBe(true);
  expect(apart({ low: 0.5, high: 0.6 }, { low: 0.1, high: 0.4 })).toBe(true);
});
