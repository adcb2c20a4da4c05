import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batch, taskSource } from "./batch.ts";
import type { Task } from "./task.ts";

const toys = (n: number): Task[] =>
  Array.from({ length: n }, (_, i) => ({
    id: `t${i}`,
    question: `question ${i}`,
    goldenAnswers: ["x"],
    dataset: "toy",
    hops: 1,
  }));
const ids = (tasks: readonly Task[]) => tasks.map(({ id }) => id);

describe("batch", () => {
  it("meets no task twice in an epoch, and every task when the size divides the list", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer(),
        (n, size, seed) => {
          fc.pre(size <= n);
          const perEpoch = Math.floor(n / size);
          for (const epoch of [0, 1, 7]) {
            const seen = Array.from({ length: perEpoch }, (_, i) =>
              ids(batch(toys(n), { seed, step: epoch * perEpoch + i, size })),
            ).flat();
            expect(seen).toHaveLength(perEpoch * size);
            expect(new Set(seen).size).toBe(seen.length);
          }
        },
      ),
    );
  });

  it("wraps when the size is above the list: each task as often as any other, but for one", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 50 }),
        fc.nat(99),
        (n, size, step) => {
          fc.pre(size > n);
          const drawn = ids(batch(toys(n), { seed: 1, step, size }));
          const counts = ids(toys(n)).map((id) => drawn.filter((each) => each === id).length);
          expect(drawn).toHaveLength(size);
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it("depends on seed and step alone, not on the order of the list or on what was asked before", () => {
    const source = taskSource(toys(30), 4);
    source.batch(17, 8);
    const here = ids(source.batch(5, 8));
    expect(ids(taskSource(toys(30).reverse(), 4).batch(5, 8))).toEqual(here);
    expect(ids(batch(toys(30), { seed: 4, step: 5, size: 8 }))).toEqual(here);
    expect(ids(batch(toys(30), { seed: 5, step: 5, size: 8 }))).not.toEqual(here);
    expect(ids(source.batch(8, 8))).not.toEqual(here);
  });

  it("leaves other tasks out at the end of each epoch", () => {
    const left = [0, 1, 2, 3, 4].map((step) => {
      const drawn = ids(batch(toys(10), { seed: 1, step, size: 8 }));
      return ids(toys(10))
        .filter((id) => !drawn.includes(id))
        .join(" ");
    });
    expect(new Set(left).size).toBeGreaterThan(2);
  });

  it("refills with tasks the step has not met, until there are none", () => {
    const source = taskSource(toys(20), 2);
    const attempts = [0, 1, 2, 3].map((attempt) => ids(source.batch(3, 6, attempt)));
    expect(new Set(attempts.slice(0, 3).flat()).size).toBe(18);
    expect(new Set(attempts.flat()).size).toBe(20);
    expect(attempts[3]).toHaveLength(6);
    expect(ids(source.batch(3, 6, 2))).toEqual(attempts[2]);
    expect(ids(taskSource(toys(2), 2).batch(0, 5, 4))).toHaveLength(5);
  });

  it("needs tasks", () => {
    expect(() => taskSource([], 1)).toThrowErrorMatchingInlineSnapshot(
      `[ConfigError: there are no tasks to draw from. Name a file with questions.]`,
    );
  });
});
