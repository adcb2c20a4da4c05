import fc from "fast-check";
import { expect, test } from "vitest";
import {
  fillBatch,
  ladder,
  pickPositions,
  planBatches,
  rowsOf,
  unfill,
  type WeightedRow,
} from "./micro-batch.ts";

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
    oldLogprobs: [0, 0, -1],
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

test("picked positions are those that count or weigh, and lead back to where they were", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 2, maxLength: 65 }), (tokens) => {
      const T = ladder(tokens.length - 1);
      const row: WeightedRow = {
        tokens: tokens.map((_, t) => 10 + t),
        mask: tokens.map(([counts], t) => (counts && t > 0 ? 1 : 0)),
        weights: tokens.map(([, weighs], t) => (weighs && t > 0 ? 0.5 : 0)),
        oldLogprobs: tokens.map(() => 0),
        advantages: tokens.map(() => 0),
        temperature: 1,
      };
      const batch = fillBatch({ B: 2, T, rows: [0] }, [row], 9);
      const { positions, targets, places } = pickPositions(batch);
      const N = positions.data.length;
      const wanted = [...batch.mask.data].flatMap((m, at) => (m || batch.weights.data[at] ? [at] : []));
      expect(N).toBeGreaterThanOrEqual(wanted.length);
      expect([8, 4, 2, 1].map((share) => (2 * T) / share)).toContain(N);
      expect([...positions.data].slice(0, wanted.length)).toEqual(wanted);
      expect([...targets.data].slice(0, wanted.length)).toEqual(wanted.map((at) => batch.targets.data[at]));
      places.data.forEach((place, at) => {
        if (wanted.includes(at)) expect(positions.data[place]).toBe(at);
        else expect(place).toBe(N);
      });
    }),
  );
});
