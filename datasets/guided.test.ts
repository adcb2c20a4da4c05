import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { taskSource } from "./batch.ts";
import { SolveRates, unguided } from "./guide.ts";
import { guidedSource } from "./guided.ts";
import type { Task } from "./task.ts";

const tasks: readonly Task[] = Array.from({ length: 30 }, (_, i) => ({
  id: `t${String(i).padStart(2, "0")}`,
  question: "?",
  goldenAnswers: ["a"],
  dataset: "toy",
  hops: 1 + (i % 3),
}));
const hops = (batch: readonly Task[]) => batch.map((task) => task.hops).sort();
const ids = (batch: readonly Task[]) => batch.map(({ id }) => id);
const easyFirst = { share: 0.1, hops: [1], mixIn: 0.1 };
const solveRate = { low: 0.2, high: 0.8, outside: 0.25 };

/** Every third task solved always, every third half of the time, the rest never. */
const rates = new SolveRates();
rates.add(tasks.flatMap(({ id }, i) => [0, 1].map((k) => ({ taskId: id, right: k < 2 - (i % 3) }))));

describe("solve rates", () => {
  test("a task's later steps weigh more; other tasks keep what they had", () => {
    const own = new SolveRates();
    own.add([true, true, false, false].map((right) => ({ taskId: "a", right })));
    own.add([{ taskId: "b", right: true }]);
    own.add([true, true].map((right) => ({ taskId: "a", right })));
    expect(own.counts.get("a")).toEqual({ episodes: 4, right: 3 });
    expect(own.counts.get("b")).toEqual({ episodes: 1, right: 1 });
  });

  test("a batch has its share from outside the band, the rest from inside", () => {
    const source = guidedSource(tasks, 1, { solveRate, steps: 100 });
    const guide = { harder: 0, solved: rates.counts };
    for (let step = 0; step < 20; step++) {
      const batch = source.batch(step, 8, 0, guide);
      expect(new Set(batch).size).toBe(8);
      expect(batch.filter((task) => Number(task.id.slice(1)) % 3 === 1)).toHaveLength(6);
    }
    expect(source.measured).toBe(true);
  });

  test("tasks that were never played are in the band; where the band is empty the others fill in", () => {
    const source = guidedSource(tasks, 1, { solveRate: { ...solveRate, outside: 0 }, steps: 100 });
    const all = new SolveRates();
    all.add(tasks.slice(4).map(({ id }) => ({ taskId: id, right: false })));
    const batch = source.batch(3, 8, 0, { harder: 0, solved: all.counts });
    expect(batch.filter((task) => ids(tasks.slice(0, 4)).includes(task.id))).toHaveLength(4);
    expect(new Set(batch).size).toBe(8);
  });
});

describe("easy first", () => {
  const source = guidedSource(tasks, 1, { easyFirst, steps: 50 });

  test("easy tasks alone, then others mixed in, then as if there were no easy ones", () => {
    for (const step of [0, 4]) expect(hops(source.batch(step, 6))).toEqual([1, 1, 1, 1, 1, 1]);
    const shares = [5, 6, 7, 8, 9].map(
      (step) => source.batch(step, 10).filter((task) => task.hops === 1).length,
    );
    expect(shares[0]!).toBeGreaterThan(shares[4]!);
    const plain = taskSource(tasks, 1);
    for (const step of [10, 11, 49]) expect(source.batch(step, 6)).toEqual(plain.batch(step, 6));
  });

  test("whatever is harder waits until then", () => {
    expect(hops(source.batch(2, 6, 0, { ...unguided, harder: 0.5 }))).toEqual([1, 1, 1, 1, 1, 1]);
    const later = hops(source.batch(20, 6, 0, { ...unguided, harder: 0.5 }));
    expect(later.filter((h) => h === 3).length).toBeGreaterThanOrEqual(3);
  });
});

test("harder tasks are those seldom solved, once half of the list is measured", () => {
  const source = guidedSource(tasks, 1, { steps: 50 });
  const batch = source.batch(0, 10, 0, { harder: 1, solved: rates.counts });
  // The harder half: ten never solved and five solved half of the time.
  expect(batch.every((task) => Number(task.id.slice(1)) % 3 !== 0)).toBe(true);
});

const choices = fc.record(
  {
    easyFirst: fc.record({
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      hops: fc.constantFrom<number[]>([1], [1, 2], [3]),
      mixIn: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    solveRate: fc.record({
      low: fc.constantFrom(0, 0.3),
      high: fc.constantFrom(0.5, 1),
      outside: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { requiredKeys: [] },
);

test("batches are a function of what they are asked; a step meets no task twice while there are others", () => {
  fc.assert(
    fc.property(
      choices,
      fc.nat(30),
      fc.integer({ min: 1, max: 10 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer(),
      (choice, step, size, harder, seed) => {
        const source = guidedSource(tasks, seed, { ...choice, steps: 20 });
        const guide = { harder, solved: rates.counts };
        const batches = [0, 1, 2].map((refill) => source.batch(step, size, refill, guide));
        const again = guidedSource([...tasks].reverse(), seed, { ...choice, steps: 20 });
        expect(again.batch(step, size, 2, guide)).toEqual(batches[2]);
        for (const batch of batches) expect(batch).toHaveLength(size);
        expect(new Set(batches.flat()).size).toBe(3 * size);
      },
    ),
  );
});

test("without a curriculum and a guide the batches are the plain ones", () => {
  const plain = taskSource(tasks, 5);
  const source = guidedSource(tasks, 5, { steps: 20 });
  const guide = { harder: 0, solved: rates.counts };
  for (let step = 0; step < 12; step++)
    for (const refill of [0, 1])
      expect(source.batch(step, 4, refill, guide)).toEqual(plain.batch(step, 4, refill));
});

test("a list of fewer tasks than are asked for is gone through again", () => {
  const source = guidedSource(tasks.slice(0, 4), 1, { solveRate, steps: 5 });
  expect(new Set(source.batch(0, 10)).size).toBe(4);
});
