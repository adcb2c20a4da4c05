import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rng } from "../core/rng.ts";
import { benchmarkOrder, inOrder } from "./benchmark.ts";
import type { Task } from "./task.ts";

const toy = (dataset: string, hops: number, i: number): Task => ({
  id: `${dataset}-${hops}-${i}`,
  question: "?",
  goldenAnswers: ["x"],
  dataset,
  hops,
});
const strata = (sizes: readonly number[]): Task[] =>
  sizes.flatMap((size, s) =>
    Array.from({ length: size }, (_, i) => toy(`d${s % 3}`, 1 + Math.floor(s / 3), i)),
  );
const stratumOf = (id: string) => id.split("-").slice(0, 2).join("-");

describe("benchmarkOrder", () => {
  it("holds every question once, and among the first k every stratum within one of its share", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 9 }),
        fc.integer(),
        (sizes, seed) => {
          const tasks = strata(sizes);
          const order = benchmarkOrder(tasks, seed);
          expect([...order].sort()).toEqual(tasks.map(({ id }) => id).sort());
          const total = new Map<string, number>();
          for (const { id } of tasks) total.set(stratumOf(id), (total.get(stratumOf(id)) ?? 0) + 1);
          const got = new Map<string, number>();
          order.forEach((id, i) => {
            got.set(stratumOf(id), (got.get(stratumOf(id)) ?? 0) + 1);
            for (const [stratum, size] of total) {
              const exact = ((i + 1) * size) / tasks.length;
              expect(Math.abs((got.get(stratum) ?? 0) - exact)).toBeLessThan(1);
            }
          });
        },
      ),
      { numRuns: 50 },
    );
  });

  it("depends on the seed, not on the order of the file", () => {
    const tasks = strata([20, 7, 3, 30]);
    const order = benchmarkOrder(tasks, 1);
    expect(benchmarkOrder(rng(9).shuffle(tasks), 1)).toEqual(order);
    expect(benchmarkOrder(tasks, 2)).not.toEqual(order);
    expect(order.slice(0, 6)).toMatchInlineSnapshot(`
      [
        "d0-2-23",
        "d0-1-15",
        "d0-2-13",
        "d0-1-8",
        "d0-2-16",
        "d1-1-5",
      ]
    `);
  });

  it("refuses two questions with one id, and an order that names a question which is not there", () => {
    const tasks = strata([3]);
    expect(() =>
      benchmarkOrder([...tasks, toy("other", 2, 0), toy("other", 2, 0)], 1),
    ).toThrowErrorMatchingInlineSnapshot(
      `[DataError: two questions of the benchmark have one id: got other-2-0. Give every question its own id.]`,
    );
    expect(inOrder(tasks, ["d0-1-2", "d0-1-0"]).map(({ id }) => id)).toEqual(["d0-1-2", "d0-1-0"]);
    expect(() => inOrder(tasks, ["d0-1-7"])).toThrowErrorMatchingInlineSnapshot(
      `[DataError: a question of the recorded order is missing: expected the questions that the order was recorded with, got d0-1-7. Use the same benchmark file, or record a new order.]`,
    );
    expect(benchmarkOrder([], 1)).toEqual([]);
  });
});
