import fc from "fast-check";
import { expect, test } from "vitest";
import { klEstimators } from "./kl.ts";

const { k1, k2, k3 } = klEstimators;

test.each([
  [0.1, 0.1, 0.005, 0.0048374],
  [-0.1, -0.1, 0.005, 0.0051709],
  [-1, -1, 0.5, 0.7182818],
  [1, 1, 0.5, 0.3678794],
])("Δ = %f", (delta, first, second, third) => {
  expect(k1(delta - 3, -3)).toBeCloseTo(first, 7);
  expect(k2(delta - 3, -3)).toBeCloseTo(second, 7);
  expect(k3(delta - 3, -3)).toBeCloseTo(third, 7);
});

test("k3 is not clamped in the reference: ref − pol = 20", () => {
  expect(k3(-25, -5) / 4.85165e8).toBeCloseTo(1, 5);
});

test("expectations over a distribution: k1 and k3 give KL(π_θ ‖ π_ref) exactly; k3 is never negative", () => {
  const weight = fc.double({ min: 0.01, max: 1, noNaN: true });
  const pair = fc.array(fc.tuple(weight, weight), { minLength: 2, maxLength: 6 });
  fc.assert(
    fc.property(pair, (weights) => {
      const totals = weights.reduce(([a, b], [p, q]) => [a + p, b + q], [0, 0]);
      const both = weights.map(([p, q]) => [p / totals[0]!, q / totals[1]!] as const);
      const kl = both.reduce((sum, [p, q]) => sum + p * Math.log(p / q), 0);
      for (const estimator of [k1, k3])
        expect(both.reduce((sum, [p, q]) => sum + p * estimator(Math.log(p), Math.log(q)), 0)).toBeCloseTo(
          kl,
          10,
        );
      for (const [p, q] of both) expect(k3(Math.log(p), Math.log(q))).toBeGreaterThanOrEqual(0);
    }),
  );
});
