import { expect, test } from "vitest";
import { detectableMean, detectableRate } from "./power.ts";

// scipy 1.17.1: the exact power summed over the number of pairs that differ, brentq for 0.8.
test.each([
  [100, 0.01, 0.077911],
  [100, 0.1, 0.088417],
  [100, 0.3, 0.158532],
  [384, 0.1, 0.046644],
  [50, 0.2, 0.175728],
  [1000, 0.15, 0.03507],
])("%i questions of which a share %f differs show a difference of %f", (n, discordant, wanted) => {
  expect(detectableRate(n, discordant)).toBeCloseTo(wanted, 5);
});

test("the approximation takes over without a jump and needs a hundred times the questions for a tenth", () => {
  expect(Math.abs(detectableRate(1330, 0.15) - detectableRate(1340, 0.15))).toBeLessThan(0.001);
  expect(detectableRate(200_000, 0.15) * 10).toBeCloseTo(detectableRate(2000, 0.15), 2);
});

test("one point on 100 questions can never be shown; five questions show nothing", () => {
  for (const discordant of [0, 0.01, 0.1, 0.5]) expect(detectableRate(100, discordant)).toBeGreaterThan(0.05);
  expect(detectableRate(5, 0.5)).toBe(1);
  expect(detectableRate(0, 0.5)).toBe(1);
});

test("other values: 2.80 standard errors", () => {
  expect(detectableMean(100, 1)).toBeCloseTo(0.28016, 5);
});
