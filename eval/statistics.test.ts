import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rng } from "../core/rng.ts";
import {
  bootstrapMean,
  clusteredMean,
  detectableDifference,
  estimate,
  macroMean,
  meanInterval,
  rateDifference,
  twoProportionZ,
} from "./statistics.ts";
import { wilson } from "./wilson.ts";

describe("clusteredMean", () => {
  test("clusters of one: sd/√n with the unbiased sd", () => {
    const { mean, standardError } = clusteredMean([2, 4, 4, 4, 5, 5, 7, 9], [..."abcdefgh"]);
    expect(mean).toBe(5);
    expect(standardError).toBeCloseTo(Math.sqrt(32 / 7 / 8), 12);
  });

  test("copies of a question add no information", () => {
    const once = clusteredMean([1, 0, 0, 1, 1], [..."abcde"]);
    const twice = clusteredMean([1, 1, 0, 0, 0, 0, 1, 1, 1, 1], [..."aabbccddee"]);
    expect(twice.standardError).toBeCloseTo(once.standardError, 12);
    expect(twice).toMatchObject({ n: 10, clusters: 5, mean: once.mean });
  });

  test("clusters of unequal size: statsmodels' cluster-robust error of a mean", () => {
    const values = [1, 0, 1, 1, 0, 0, 1, 1, 0, 1];
    const { standardError } = clusteredMean(values, [..."aabbbccdde"]);
    // OLS on a constant, cov_type="cluster": 0.06324555.
    expect(standardError).toBeCloseTo(0.06324555, 7);
  });

  test("no spread between fewer than two clusters", () => {
    expect(clusteredMean([1, 0], ["a", "a"]).standardError).toBeNaN();
    expect(clusteredMean([], []).mean).toBeNaN();
    expect(() => clusteredMean([1], [])).toThrow(/differ in length/);
  });
});

describe("bootstrapMean", () => {
  test("is a function of its arguments and close to the normal interval where that is right", () => {
    const draw = rng(7, "coin");
    const values = Array.from({ length: 400 }, () => (draw() < 0.6 ? 1 : 0));
    const mean = values.reduce<number>((sum, value) => sum + value, 0) / 400;
    const { low, high } = bootstrapMean(values, { seed: 1 });
    expect(bootstrapMean(values, { seed: 1 })).toEqual({ low, high });
    expect(bootstrapMean(values, { seed: 2 })).not.toEqual({ low, high });
    const half = 1.96 * Math.sqrt((mean * (1 - mean)) / 400);
    expect(low).toBeCloseTo(mean - half, 1.9);
    expect(high).toBeCloseTo(mean + half, 1.9);
  });

  test("equal values have no width; nothing has no interval", () => {
    expect(bootstrapMean([0.5, 0.5, 0.5], { seed: 1 })).toEqual({ low: 0.5, high: 0.5 });
    expect(() => bootstrapMean([], { seed: 1 })).toThrow(/nothing/);
  });
});

describe("meanInterval and estimate", () => {
  const x = [0.2, 0.9, 0.4, 0.4, 1, 0, 0.7];

  test("values between 0 and 1: the standard error of scipy.stats.sem, and an interval near Student's", () => {
    const got = estimate(x, { seed: 1 });
    expect(got.mean).toBeCloseTo(0.5142857142857142, 12);
    expect(got.standardError).toBeCloseTo(0.13875049794603297, 12);
    // scipy.stats.t.interval: [0.175, 0.854].
    expect(got.low).toBeCloseTo(0.175, 1);
    expect(got.high).toBeCloseTo(0.854, 1);
  });

  test("right and wrong: Wilson; one value has no standard error", () => {
    expect(estimate([1, 0, 1, 1], { seed: 1 })).toMatchObject({ n: 4, mean: 0.75, ...wilson(3, 4) });
    expect(estimate([0.5], { seed: 1 })).toMatchObject({ standardError: null, low: 0.5, high: 0.5 });
  });

  test("past a thousand values Student's t takes over, and is the same to the third digit", () => {
    const many = Array.from({ length: 1001 }, (_, i) => x[i % 7]!);
    const got = meanInterval(many, { seed: 1 });
    const bootstrap = bootstrapMean(many, { seed: 1 });
    expect(got.interval).toBe("t");
    expect(Math.abs(got.low - bootstrap.low)).toBeLessThan(0.002);
    expect(Math.abs(got.high - bootstrap.high)).toBeLessThan(0.002);
  });
});

describe("macroMean", () => {
  test("each stratum counts the same; Welch's interval of two samples, halved", () => {
    const { mean, standardError, low, high } = macroMean([
      [0.2, 0.9, 0.4, 0.4, 1, 0, 0.7],
      [1, 0.5, 0.75],
    ]);
    expect(mean).toBeCloseTo((0.5142857142857142 + 0.75) / 2, 12);
    expect(standardError).toBeCloseTo(0.10010623608647645, 9);
    expect(low).toBeCloseTo(0.384735719568021, 8);
    expect(high).toBeCloseTo(0.8795499947176932, 8);
  });

  test("strata without spread, and with one value", () => {
    expect(
      macroMean([
        [1, 1],
        [0, 0, 0],
      ]),
    ).toEqual({ mean: 0.5, standardError: 0, low: 0.5, high: 0.5 });
    expect(macroMean([[1], [0, 1]])).toEqual({ mean: 0.75, standardError: null, low: 0.75, high: 0.75 });
  });
});

describe("two rates", () => {
  // Newcombe 1998, Statistics in Medicine 17, 873–890, table II, method 10.
  test.each([
    [48, 80, 56, 70, 0.2, 0.0524, 0.3339],
    [3, 10, 9, 10, 0.6, 0.1705, 0.809],
    [0, 10, 10, 10, 1, 0.6075, 1],
  ])("%i/%i and %i/%i", (a, n, b, m, difference, low, high) => {
    const got = rateDifference({ successes: a, n }, { successes: b, n: m });
    expect(got.difference).toBeCloseTo(difference, 12);
    expect(got.low).toBeCloseTo(low, 4);
    expect(got.high).toBeCloseTo(high, 4);
  });

  test("z of the pooled test", () => {
    // (0.8 − 0.6)/√(p(1−p)(1/80 + 1/70)), p = 104/150.
    expect(twoProportionZ({ successes: 48, n: 80 }, { successes: 56, n: 70 })).toBeCloseTo(2.6501, 3);
    expect(twoProportionZ({ successes: 5, n: 5 }, { successes: 7, n: 7 })).toBe(0);
  });

  test("swapping the samples mirrors the interval", () => {
    const proportion = fc
      .integer({ min: 1, max: 60 })
      .chain((n) => fc.record({ successes: fc.nat(n), n: fc.constant(n) }));
    fc.assert(
      fc.property(proportion, proportion, (a, b) => {
        const [ab, ba] = [rateDifference(a, b), rateDifference(b, a)];
        expect(ab.low).toBeCloseTo(-ba.high, 10);
        expect(ab.low).toBeLessThanOrEqual(ab.difference);
        expect(ab.high).toBeGreaterThanOrEqual(ab.difference);
      }),
    );
  });

  test("384 questions show a difference of about 0.10 at p = 0.5", () => {
    expect(detectableDifference(0.5, 384)).toBeCloseTo(0.1011, 4);
  });
});
