import { expect, test } from "vitest";
import { binomialCdf, binomialPmf, incompleteBeta, logGamma, normalCdf, tQuantile } from "./distributions.ts";

// Reference values: scipy 1.17.1.
const near = (got: number, wanted: number, relative = 1e-10) =>
  expect(Math.abs(got - wanted)).toBeLessThanOrEqual(relative * Math.abs(wanted));

test.each([
  [-8, 6.22096057427174e-16],
  [-5, 2.866515718791933e-7],
  [-3, 0.0013498980316300933],
  [-1.234, 0.10860145212152433],
  [0, 0.5],
  [0.5, 0.6914624612740131],
  [1.959963984540054, 0.975],
  [4, 0.9999683287581669],
  [9, 1],
])("Φ(%f) = %f", (x, wanted) => near(normalCdf(x), wanted, 1e-9));

test.each([
  [0.975, 1, 12.706204736174694],
  [0.975, 2, 4.302652729749462],
  [0.975, 2.7, 3.3921483831737507],
  [0.975, 9, 2.262157162798205],
  [0.975, 29, 2.045229642132703],
  [0.975, 383, 1.9661771911465886],
  [0.9, 4, 1.533206274058944],
  [0.025, 7, -2.3646242515927844],
  [0.995, 60, 2.6602830288550368],
  [0.975, 1e6, 1.959966356814107],
])("quantile %f of t with %f degrees of freedom is %f", (p, df, wanted) => near(tQuantile(p, df), wanted));

test("the median of t is 0; there is no quantile of 0, 1 or without degrees of freedom", () => {
  expect(tQuantile(0.5, 3)).toBe(0);
  for (const [p, df] of [
    [0, 3],
    [1, 3],
    [0.5, 0],
    [Number.NaN, 3],
  ] as const)
    expect(() => tQuantile(p, df)).toThrow(/no such quantile/);
});

test("binomial: the sum of its own terms, and its ends", () => {
  for (const [n, p] of [
    [12, 0.5],
    [40, 0.03],
    [150, 0.9],
  ] as const) {
    let sum = 0;
    for (let k = 0; k <= n; k++) {
      sum += binomialPmf(k, n, p);
      expect(binomialCdf(k, n, p)).toBeCloseTo(sum, 11);
    }
    expect(sum).toBeCloseTo(1, 11);
  }
  expect([binomialCdf(-1, 5, 0.5), binomialCdf(5, 5, 0.5)]).toEqual([0, 1]);
  near(binomialCdf(0, 5, 0.5), 1 / 32);
  expect([binomialPmf(0, 5, 0), binomialPmf(1, 5, 0), binomialPmf(5, 5, 1)]).toEqual([1, 0, 1]);
});

test("ln Γ is ln (n−1)!, and I(x; a, b) mirrors", () => {
  near(logGamma(11), Math.log(3628800), 1e-13);
  near(logGamma(0.5), Math.log(Math.PI) / 2, 1e-12);
  near(incompleteBeta(0.3, 2, 5), 0.579825, 1e-12);
  expect(incompleteBeta(0.3, 2, 5) + incompleteBeta(0.7, 5, 2)).toBeCloseTo(1, 12);
  expect([incompleteBeta(0, 2, 5), incompleteBeta(1, 2, 5)]).toEqual([0, 1]);
});
