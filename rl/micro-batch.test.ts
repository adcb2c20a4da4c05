import fc from "fast-check";
import { expect, test } from "vitest";
import { fillBatch, ladder, planBatches, rowsOf, unfill, type WeightedRow } from "./micro-batch.ts";

test("the ladder never shortens and wastes at most half", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9000 }), (n) => {
      expect(ladder(n)).toBeGreaterThanOrEqual(n);
      if (n > 32) expect(ladder(n)).toBeLessThanOrEqual(1.5 * n);
      expect(ladder(ladder(n))).toBe(ladder(n));
    }),
  );
});

test("every row lands in exactly one block that holds it", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 2, max: 700 }), { minLength: 1, maxLength: 80 }), (lengths) => {
      const plans = planBatches(lengths, 1024);
      expect(plans.flatMap((p) => p.rows).sort((a, b) => a - b)).toEqual(lengths.map((_, i) => i));
      for (const p of plans) {
        expect(p.rows.length).toBeLessThanOrEqual(p.B);
        for (const row of p.rows) expect(lengths[row]! - 1).toBeLessThanOrEqual(p.T);
      }
    }),
  );
});

test("row counts fill the slots in multiples of eight", () => {
  expect([rowsOf(48, 4096), rowsOf(160, 4096), rowsOf(5000, 4096)]).toEqual([80, 24, 1]);
});

test("a block describes the prediction of the next token, and unfill takes it back", () => {
  const row: WeightedRow = {
    tokens: [5, 6, 7],
    mask: [0, 0, 1],
    weights: [0, 0, 0.5],
    logprobs: [0, 0, -1],
    advantages: [0, 0, 2],
    temperature: 1,
  };
  const plan = { B: 2, T: 4, rows: [0] };
  const batch = fillBatch(plan, [row], 9);
  expect([...batch.ids.data]).toEqual([5, 6, 7, 9, 9, 9, 9, 9]);
  expect([...batch.targets.data]).toEqual([6, 7, 0, 0, 0, 0, 0, 0]);
  expect([...batch.mask.data]).toEqual([0, 1, 0, 0, 0, 0, 0, 0]);
  expect([...batch.old.data]).toEqual([0, -1, 0, 0, 0, 0, 0, 0]);
  const out: number[][] = [];
  unfill(plan, batch.old.data, [3], (r, values) => {
    out[r] = values;
  });
  expect(out).toEqual([[0, 0, -1]]);
});
