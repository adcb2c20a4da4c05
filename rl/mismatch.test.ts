import { expect, test } from "vitest";
import { mismatchMetrics, stepMismatch } from "./mismatch.ts";
import type { Row } from "./row.ts";

const ln = Math.log;

test("golden numbers: ratios 1, 2 and 0.5; what the mask leaves out does not count", () => {
  const m = mismatchMetrics([
    { old: [99, -1, ln(2) - 1], sampler: [0, -1, -1], mask: [0, 1, 1] },
    { old: [ln(0.5) - 1], sampler: [-1], mask: [1] },
  ]);
  expect(m["mismatch/mean_abs"]).toBeCloseTo((2 * ln(2)) / 3, 12);
  expect(m["mismatch/max_abs"]).toBeCloseTo(ln(2), 12);
  expect(m["mismatch/p99_abs"]).toBeCloseTo(ln(2), 12);
  // (0) + (2 − 1 − ln 2) + (0.5 − 1 + ln 2), over 3.
  expect(m["mismatch/k3"]).toBeCloseTo(0.5 / 3, 12);
  // (3.5)² / (3 · 5.25)
  expect(m["mismatch/ess"]).toBeCloseTo(12.25 / 15.75, 12);
  expect(m["mismatch/ratio_mean"]).toBeCloseTo(3.5 / 3, 12);
});

test("p99 is the nearest rank: of 200 tokens the third largest is the first not above it", () => {
  const n = 200;
  const sampler = Array.from({ length: n }, (_, i) => -i);
  const m = mismatchMetrics([{ old: sampler.map(() => 0), sampler, mask: sampler.map(() => 1) }]);
  expect(m["mismatch/p99_abs"]).toBe(197);
  expect(m["mismatch/max_abs"]).toBe(199);
  expect(Object.values(m).every(Number.isFinite)).toBe(true);
});

test("no gap is exactly none; no token is no metric", () => {
  expect(mismatchMetrics([{ old: [-1, -2], sampler: [-1, -2], mask: [1, 1] }])).toEqual({
    "mismatch/mean_abs": 0,
    "mismatch/p99_abs": 0,
    "mismatch/max_abs": 0,
    "mismatch/k3": 0,
    "mismatch/ess": 1,
    "mismatch/ratio_mean": 1,
  });
  expect(mismatchMetrics([{ old: [-1], sampler: [-2], mask: [0] }])).toEqual({});
  expect(stepMismatch([])).toEqual({});
});

const row = (over: Partial<Row>): Row => ({
  ...{ tokens: [1, 2, 3], mask: [0, 1, 1], oldLogprobs: [0, -1, -2], advantages: [0, 1, 1], temperature: 1 },
  ...over,
});

test("in process the first update's forward is the trainer's side, later updates are not", () => {
  const m = stepMismatch([
    { rows: [row({})], report: { logprobs: [[0, -1.5, -2]] } },
    { rows: [row({})], report: { logprobs: [[0, -9, -9]] } },
  ]);
  expect(m["mismatch/max_abs"]).toBe(0.5);
  expect(m).not.toHaveProperty("importance/clipped_frac");
});

test("recomputed rows hold both sides, and say how many weights were capped", () => {
  const importance = { ratios: [0, 3, 0.9], weights: [0, 2, 0.9] };
  const m = stepMismatch([
    { rows: [row({ sampler: [0, -1, -4], importance })], report: { logprobs: [[0, 0, 0]] } },
  ]);
  expect(m["mismatch/max_abs"]).toBe(2);
  expect(m["importance/clipped_frac"]).toBe(0.5);
  expect(m["importance/weight_mean"]).toBeCloseTo(1.45, 12);
});
