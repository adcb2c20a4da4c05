import fc from "fast-check";
import { expect, test } from "vitest";
import { averageAt, passAll, passAt } from "./passk.ts";

test.each([
  [4, 1, 2, 0.5, 0],
  [4, 1, 4, 1, 0],
  [8, 2, 4, 0.785714, 0],
  [5, 3, 2, 0.9, 0.3],
  [10, 1, 5, 0.5, 0],
  [16, 4, 8, 0.961538, 0],
])("n %i, c %i, k %i → pass@k %f, pass^k %f", (n, c, k, pass, all) => {
  expect(passAt(n, c, k)).toBeCloseTo(pass, 6);
  expect(passAll(n, c, k)).toBeCloseTo(all, 6);
});

test("no value when there are fewer than k samples", () => {
  expect(passAt(3, 3, 4)).toBeUndefined();
  expect(passAll(3, 3, 4)).toBeUndefined();
  expect(passAt(3, 1, 0)).toBeUndefined();
  expect(averageAt([1, 0, 1], 4)).toBeUndefined();
  expect(averageAt([1, 0, 1], 2)).toBe(0.5);
  expect(averageAt([0, 0], 2)).toBe(0);
});

test("pass@k is the share of k-subsets with a right one, pass^k of those with only right ones", () => {
  const subsets = (n: number, k: number) =>
    Array.from({ length: 2 ** n }, (_, bits) => Array.from({ length: n }, (_, i) => (bits >> i) & 1)).filter(
      (chosen) => chosen.reduce((sum, bit) => sum + bit, 0) === k,
    );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 7 }), fc.nat(7), fc.integer({ min: 1, max: 7 }), (n, c, k) => {
      fc.pre(c <= n && k <= n);
      const sets = subsets(n, k);
      const right = (chosen: number[]) => chosen.slice(0, c).filter((bit) => bit === 1).length;
      expect(passAt(n, c, k)).toBeCloseTo(sets.filter((set) => right(set) > 0).length / sets.length, 10);
      expect(passAll(n, c, k)).toBeCloseTo(sets.filter((set) => right(set) === k).length / sets.length, 10);
    }),
  );
});
