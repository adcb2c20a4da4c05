import { describe, expect, it } from "vitest";
import { benchmarkConfig, sourceConfig } from "../config.ts";
import { loadBenchmark, loadSource } from "../load.ts";
import { arithmeticFamily } from "./arithmetic/arithmetic.ts";
import { levelMix } from "./load.ts";
import { familySource, familyTasks } from "./tasks.ts";

const normalize = (text: string) => text;
const load = (row: Record<string, unknown>, seed = 1) =>
  loadSource(sourceConfig.parse({ kind: "family", ...row }), seed, normalize, {}, 100);
const hopsOf = (tasks: readonly { hops: number }[]) =>
  [1, 2, 3, 4].map((hops) => tasks.filter((task) => task.hops === hops).length);

describe("a family's source", () => {
  it("has defaults, and refuses what it does not know", () => {
    expect(sourceConfig.parse({ kind: "family", family: "arithmetic" })).toEqual({
      ...{ kind: "family", family: "arithmetic", seed: 1, difficulty: [1, 2, 3], split: "train" },
      ...{ passages: "search", sentences: 16, numbers: 99 },
    });
    expect(benchmarkConfig.parse({ kind: "family", family: "search" })).toMatchObject({
      split: "test",
      n: 384,
    });
    const wrong = [
      { family: "maths" },
      { family: "arithmetic", difficulty: [] },
      { family: "arithmetic", difficulty: [0] },
      { family: "arithmetic", solveRate: {} },
      { family: "arithmetic", clusters: 3 },
    ];
    for (const row of wrong) expect(sourceConfig.safeParse({ kind: "family", ...row }).success).toBe(false);
  });

  it("is endless: each step and refill its own tasks, as many of each level, by the run's seed", async () => {
    const { source, family, loaded } = await load({ family: "arithmetic", difficulty: [1, 3] });
    expect(family?.kind).toBe("arithmetic");
    expect(loaded).toBeUndefined();
    const batches = [source.batch(0, 16), source.batch(0, 16, 1), source.batch(1, 16)];
    expect(batches.map(hopsOf)).toEqual(batches.map(() => [8, 0, 8, 0]));
    expect(new Set(batches.flat().map(({ id }) => id)).size).toBe(48);
    expect((await load({ family: "arithmetic", difficulty: [1, 3] })).source.batch(1, 16)).toEqual(
      batches[2],
    );
    const other = (await load({ family: "arithmetic", difficulty: [1, 3] }, 2)).source.batch(1, 16);
    expect(other).not.toEqual(batches[2]);
  });

  it("goes over n tasks again and again when n is given", async () => {
    const { source, loaded } = await load({ family: "synthesis", n: 12, difficulty: [2] });
    expect(loaded?.tasks).toHaveLength(12);
    const epochs = [0, 1, 2, 3].flatMap((step) => source.batch(step, 6).map(({ id }) => id));
    expect(new Set(epochs).size).toBe(12);
  });

  it("begins with easy tasks and grows harder where it is told to", async () => {
    const row = {
      family: "arithmetic",
      difficulty: [1, 2, 3],
      easyFirst: { hops: [1], share: 0.1, mixIn: 0 },
    };
    const { source } = await load(row);
    expect(hopsOf(source.batch(9, 12))).toEqual([12, 0, 0, 0]);
    expect(hopsOf(source.batch(10, 12))).toEqual([4, 4, 4, 0]);
    expect(hopsOf(source.batch(50, 12, 0, { harder: 0.5, solved: new Map() }))).toEqual([2, 2, 8, 0]);
    await expect(load({ ...row, difficulty: [2] })).rejects.toThrow("no level is easy");
    expect(levelMix([2, 4], { steps: 1 })(0)).toEqual([0, 0.5, 0, 0.5].slice(0, 4));
  });

  it("stands for the world where the family is search", async () => {
    const { world, source } = await load({ family: "search", difficulty: [2] });
    expect(hopsOf(source.batch(0, 4))).toEqual([0, 4, 0, 0]);
    expect(world?.planned(source.batch(0, 1)[0]?.id as string).task.dataset).toBe("world");
    await expect(load({ family: "search", difficulty: [4] })).rejects.toThrow("no such difficulty");
  });

  it("is a benchmark of different tasks, the same for every run", async () => {
    for (const [family, n] of [
      ["arithmetic", 60],
      ["synthesis", 60],
      ["debugging", 6],
    ] as const) {
      const row = benchmarkConfig.parse({ kind: "family", family, n });
      const { tasks } = await loadBenchmark(row, normalize);
      expect(tasks).toEqual((await loadBenchmark(row, normalize)).tasks);
      expect(hopsOf(tasks)).toEqual([n / 3, n / 3, n / 3, 0]);
      expect(new Set(tasks.map(({ question }) => question)).size).toBe(n);
      expect(tasks.every(({ id, dataset }) => id.startsWith(`${family}-1/test/`) && dataset === family)).toBe(
        true,
      );
    }
  });

  it("says when a level does not exist, or has too few tasks", () => {
    const family = arithmeticFamily(1);
    const fixed = (difficulty: readonly number[]) => familyTasks({ family, split: "test", n: 2, difficulty });
    expect(() => fixed([5])).toThrow(
      "arithmetic-1 has no such difficulty: expected levels from 1 to 4, got 5",
    );
    expect(() => fixed([])).toThrow("got none");
    const one = { ...family, task: () => family.task({ split: "test", level: 1, index: 0 }) };
    expect(() => familyTasks({ family: one, split: "test", n: 2, difficulty: [1] })).toThrow(
      "too few different tasks",
    );
    const stream = familySource({ family: one, split: "test", mix: () => [1], seed: 1 });
    expect(() => stream.batch(0, 2)).toThrow("too few different tasks");
  });
});
