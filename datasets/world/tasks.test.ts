import { describe, expect, it } from "vitest";
import { curricula, uniformMix } from "../curriculum.ts";
import { makeWorld } from "../world.ts";
import { worldSource, worldTasks } from "./tasks.ts";

const world = makeWorld({ seed: 5, clusters: 40 });
const starts = (tasks: readonly { id: string }[]) => tasks.map(({ id }) => id.split(/[/.]/)[1]);
const hopsOf = (tasks: readonly { hops: number }[]) =>
  [1, 2, 3].map((hops) => tasks.filter((task) => task.hops === hops).length);

describe("worldTasks", () => {
  const tasks = worldTasks({ world, split: "test", n: 300, seed: 1 });

  it("asks n different things, as many of each hop count, about one split alone", () => {
    expect(hopsOf(tasks)).toEqual([100, 100, 100]);
    expect(new Set(tasks.map(({ id }) => id.split("#")[0])).size).toBe(300);
    const train = worldTasks({ world, split: "train", n: 2000, seed: 1 });
    const trained = new Set(train.flatMap(({ question }) => question.split(" ")));
    const names = tasks.flatMap(({ question, goldenAnswers }) => [...question.split(" "), ...goldenAnswers]);
    const shared = new Set(names.filter((word) => trained.has(word)));
    expect([...shared].filter((word) => !world.vocabulary.words.includes(word))).toEqual([]);
    expect(new Set(starts(tasks)).size).toBeGreaterThan(80);
  });

  it("is a function of the world, the split, n and the seed", () => {
    const again = makeWorld({ seed: 5, clusters: 40 });
    expect(worldTasks({ world: again, split: "test", n: 300, seed: 1 })).toEqual(tasks);
    expect(worldTasks({ world, split: "test", n: 300, seed: 2 })).not.toEqual(tasks);
    for (const task of tasks) expect(world.planned(task.id).task).toEqual(task);
  });

  it("follows a hop mix to the question, and fails when a split is too small", () => {
    const skewed = worldTasks({ world, split: "train", n: 10, hopMix: { 1: 5, 2: 3, 3: 2 }, seed: 1 });
    expect(hopsOf(skewed)).toEqual([5, 3, 2]);
    expect(() =>
      worldTasks({ world, split: "dev", n: 3000, hopMix: { 1: 1, 2: 0, 3: 0 }, seed: 1 }),
    ).toThrowErrorMatchingInlineSnapshot(
      `[ConfigError: world-5, dev: too few different questions of 1 hop: expected about 200 one-hop questions a cluster at most, got 3000 questions asked of 2 clusters. Ask for fewer questions or more clusters.]`,
    );
  });
});

describe("worldSource", () => {
  const source = worldSource({ world, split: "train", curriculum: () => uniformMix, seed: 3 });

  it("draws other questions for every step and attempt, and the same ones again when asked again", () => {
    const batches = [
      source.batch(0, 32),
      source.batch(1, 32),
      source.batch(0, 32, 1),
      source.batch(0, 32, 2),
    ];
    const ids = batches.flatMap((tasks) => tasks.map(({ id }) => id));
    expect(ids).toHaveLength(128);
    expect(new Set(ids).size).toBeGreaterThan(120);
    for (const tasks of batches) expect(new Set(tasks.map(({ id }) => id)).size).toBe(32);
    expect(source.batch(0, 32, 1)).toEqual(batches[2]);
  });

  it("follows its curriculum", () => {
    const ramped = worldSource({
      world,
      split: "train",
      curriculum: curricula.ramp({ 1: 0, 2: 0, 3: 1 }, { 1: 1, 2: 0, 3: 0 }, 4),
      seed: 3,
    });
    expect([0, 2, 4, 9].map((step) => hopsOf(ramped.batch(step, 8)))).toEqual([
      [0, 0, 8],
      [4, 0, 4],
      [8, 0, 0],
      [8, 0, 0],
    ]);
  });
});
