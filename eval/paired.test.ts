import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holm, mcnemar, pairedDifference, signFlip, tango } from "./paired.ts";

describe("McNemar's exact test", () => {
  // statsmodels 0.15.0, mcnemar(…, exact=True).
  test.each([
    [0, 0, 1],
    [0, 1, 1],
    [0, 5, 0.0625],
    [0, 6, 0.03125],
    [1, 9, 0.021484375],
    [3, 12, 0.03515625],
    [12, 30, 0.007915897334896727],
    [40, 40, 1],
    [700, 820, 0.002260528308299211],
    [2000, 2300, 5.079935568924055e-6],
  ])("%i and %i pairs differ: p %f", (b, c, p) => {
    expect(mcnemar(b, c) / p).toBeCloseTo(1, 8);
    expect(mcnemar(c, b)).toBe(mcnemar(b, c));
  });
});

describe("Tango's interval", () => {
  // The score inverted with scipy 1.17.1, the likelihood maximised numerically.
  test.each([
    [0, 0, 100, -0.0369935, 0.0369935],
    [0, 1, 100, -0.0544862, 0.02736343],
    [1, 9, 50, -0.29293641, -0.04450866],
    [12, 30, 384, -0.08195288, -0.01443683],
    [5, 0, 10, 0.0837008, 0.7634069],
    [10, 0, 10, 0.4449344, 1],
    [40, 40, 200, -0.088041, 0.088041],
    [700, 820, 7405, -0.02653333, -0.00589289],
  ])("%i up and %i down of %i → [%f, %f]", (up, down, n, low, high) => {
    const got = tango(up, down, n);
    expect(got.low).toBeCloseTo(low, 6);
    expect(got.high).toBeCloseTo(high, 6);
  });

  test("holds the difference, lies in [−1, 1], mirrors; impossible counts throw", () => {
    fc.assert(
      fc.property(fc.nat(30), fc.nat(30), fc.integer({ min: 1, max: 90 }), (up, down, n) => {
        fc.pre(up + down <= n);
        const { low, high } = tango(up, down, n);
        const mirror = tango(down, up, n);
        expect(low).toBeCloseTo(-mirror.high, 9);
        expect(low).toBeLessThanOrEqual((up - down) / n + 1e-12);
        expect(high).toBeGreaterThanOrEqual((up - down) / n - 1e-12);
        expect(Math.min(low, -high)).toBeGreaterThanOrEqual(-1);
      }),
    );
    expect(() => tango(3, 2, 4)).toThrow(/not counts of pairs/);
  });
});

describe("sign-flip permutation", () => {
  // All sign patterns, by scipy.stats.permutation_test and by enumeration in Python.
  test.each([
    [[0.5, 0.25, -0.25, 1], 0.375],
    [[0.2, 0.4, 0.1, 0.3, 0.5, 0.6, -0.1, 0.2], 0.0234375],
    [[1, 1, 1, 1, 1, 1, 0, 0], 0.03125],
    [[0.5, 0, 0, -0.5], 1],
    [[0, 0], 1],
    [[0.31, 0.12, -0.4, 0.22, 0.8, 0.11, 0.3, -0.05, 0.6, 0.2, 0.41, 0.09], 0.02685546875],
  ])("%j: p %f", (differences, p) => expect(signFlip(differences, { seed: 1 })).toBe(p));

  test("drawn patterns come close to the exact p, are keyed, and give no p of 0", () => {
    // 18 up and 6 down: the exact p is McNemar's.
    const differences = [...Array<number>(18).fill(1), ...Array<number>(6).fill(-1)];
    const p = signFlip(differences, { seed: 1 });
    expect(Math.abs(p - mcnemar(6, 18))).toBeLessThan(0.006);
    expect(signFlip(differences, { seed: 1 })).toBe(p);
    expect(signFlip(Array<number>(60).fill(1), { seed: 1 })).toBe(1 / 10_000);
  });
});

// statsmodels 0.15.0, multipletests(…, method="holm").
test.each([
  [
    [0.01, 0.04, 0.03, 0.005],
    [0.03, 0.06, 0.06, 0.02],
  ],
  [
    [0.5, 0.2, 0.9],
    [1, 0.6, 1],
  ],
  [
    [0.001, 0.001, 0.001],
    [0.003, 0.003, 0.003],
  ],
  [[0.02], [0.02]],
  [[], []],
])("Holm: %j → %j", (ps, adjusted) => {
  holm(ps).forEach((p, i) => {
    expect(p).toBeCloseTo(adjusted[i] as number, 12);
  });
  expect(holm(ps)).toHaveLength(adjusted.length);
});

describe("pairedDifference", () => {
  const of = (...counts: [both: number, onlyA: number, onlyB: number, neither: number]) => {
    const cells = [
      [1, 1],
      [1, 0],
      [0, 1],
      [0, 0],
    ] as const;
    const pairs = cells.flatMap((cell, i) => Array.from({ length: counts[i] as number }, () => cell));
    return [pairs.map(([a]) => a), pairs.map(([, b]) => b)] as [number[], number[]];
  };

  test("right and wrong: the table of pairs, both tests, Tango's interval", () => {
    const got = pairedDifference(...of(150, 12, 30, 192), { seed: 1, unit: true });
    expect(got).toMatchObject({ n: 384, a: 162 / 384, b: 180 / 384, interval: "tango" });
    expect(got.pairs).toMatchObject({ both: 150, onlyA: 12, onlyB: 30, neither: 192 });
    expect(got.pairs?.mcnemar).toBeCloseTo(0.0079159, 7);
    expect(got.signFlip).toBeCloseTo(0.0079, 2);
    expect(got.difference).toBeCloseTo(18 / 384, 12);
    expect(got.low).toBeCloseTo(0.01443683, 6);
  });

  test("pairing sees what two intervals side by side do not", () => {
    const { low } = pairedDifference(...of(180, 0, 12, 192), { seed: 1, unit: true });
    expect(low).toBeGreaterThan(0);
  });

  test("fractions: the standard error is that of the differences, the interval the bootstrap's", () => {
    const a = [0.2, 0.5, 0.5, 0, 1, 0.25, 0.75, 0];
    const b = a.map((value, i) => value + [0.2, 0.4, -0.1, 0.3, 0, 0.5, 0.2, 0.1][i]!);
    const got = pairedDifference(a, b, { seed: 1, unit: true });
    expect(got).toMatchObject({ n: 8, interval: "bootstrap" });
    expect(got).not.toHaveProperty("pairs");
    expect(got.difference).toBeCloseTo(0.2, 12);
    // scipy.stats.sem of the differences.
    expect(got.standardError).toBeCloseTo(0.0707106781, 9);
    expect(got.low).toBeLessThan(0.2);
    expect(got.low).toBeGreaterThan(0);
  });

  test("nothing that changed: an interval for values in [0, 1], none for others; no pair throws", () => {
    const same = [0.5, 0.25, 1];
    expect(pairedDifference(same, same, { seed: 1, unit: true })).toMatchObject({
      difference: 0,
      ...tango(0, 0, 3),
      signFlip: 1,
    });
    const more = same.map((value) => value + 2);
    const turns = pairedDifference(more, more, { seed: 1, unit: false });
    expect(turns).toMatchObject({ interval: "none", low: 0, high: 0 });
    expect(pairedDifference([0.5], [0.75], { seed: 1, unit: true })).toMatchObject({ standardError: null });
    expect(() => pairedDifference([], [], { seed: 1, unit: true })).toThrow(/no pair/);
    expect(() => pairedDifference([1], [], { seed: 1, unit: true })).toThrow(/unequal/);
  });
});
