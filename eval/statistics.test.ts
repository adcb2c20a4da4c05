import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rng } from "../core/rng.ts";
import {
  bootstrapMean,
  clusteredMean,
  detectableDifference,
  rateDifference,
  twoProportionZ,
} from "./statistics.ts";

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
