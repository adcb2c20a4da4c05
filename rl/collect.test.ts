import { expect, test } from "vitest";
import type { Task } from "../datasets/task.ts";
import type { Scored } from "../reward/scored.ts";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { collect } from "./collect.ts";

const task = (id: string): Task => ({ ...toyTask, id });
/** Scores by the digits of the task's id: "t-0110" is a group of four, two of them right. */
const score = (t: Trajectory): Scored => {
  const right = Number(t.task.id.split("-")[1]![t.member]);
  return { ...t, parts: { exactMatch: right, answerTag: 1 }, reward: right || 0.1 };
};
const options = (batches: string[][], over: object = {}, retried: readonly Trajectory[] = []) => ({
  tasksPerStep: 2,
  refillBatches: 2,
  batch: (size: number, refill: number) => (batches[refill] ?? []).slice(0, size).map(task),
  roll: async (tasks: readonly Task[]) => ({
    groups: tasks.map((t) => ({
      task: t,
      members: [...t.id.split("-")[1]!].map((_, member) => toyTrajectory(["x"], { task: t, member })),
    })),
    tooFew: [],
    leftOut: [toyTrajectory([], { outcome: "infra(model)" })],
    retried,
  }),
  score,
  algorithm: { filter: "spread" as const, filterMetric: "reward" },
  clock: () => 0,
  ...over,
});

test("groups without spread are dropped by cause and refilled", async () => {
  const c = await collect(
    options([
      ["a-1111", "b-0110"],
      ["c-0000", "d-1000"],
    ]),
  );
  expect(c.sampled.map((j) => j.verdict)).toEqual(["allRight", "kept", "allWrong", "kept"]);
  expect(c.kept.map((j) => j.group.task.id)).toEqual(["b-0110", "d-1000"]);
  expect(c.batches).toBe(2);
  expect(c.failed).toHaveLength(2);
});

test("what a refill brings beyond what the step wants is surplus: sampled, and not learned from", async () => {
  const c = await collect(
    options([
      ["a-1111", "b-0110"],
      ["c-1000", "d-1000"],
    ]),
  );
  expect(c.kept.map((j) => j.group.task.id)).toEqual(["b-0110", "c-1000"]);
  expect(c.sampled.map((j) => j.verdict)).toEqual(["allRight", "kept", "kept", "surplus"]);
  expect(c.sampled.filter((j) => c.kept.includes(j))).toEqual(c.kept);
});

test("plays that were repeated after an infrastructure failure are counted over all batches", async () => {
  const failed = toyTrajectory([], { outcome: "infra(retriever)" });
  const batches = [["a-1111", "b-0110"], ["c-0000"]];
  expect((await collect(options(batches, {}, [failed, failed]))).retries).toBe(4);
});

test("an episode that could not be judged leaves its group and is counted as failed, never as a zero", async () => {
  const prepare = async (all: readonly Trajectory[]) =>
    new Map(
      all.filter(({ task: { id }, member }) => id.startsWith("b") && member > 1).map((t) => [t, "prose"]),
    );
  const c = await collect(
    options([["a-01", "b-0110", "c-0111"]], {
      refillBatches: 0,
      score: Object.assign((t: Trajectory) => score(t), { prepare }),
    }),
  );
  expect(c.sampled.map(({ group, verdict }) => [group.members.length, verdict])).toEqual([
    [2, "kept"],
    [2, "kept"],
  ]);
  expect(c.failed.map(({ outcome, failure }) => [outcome, failure])).toEqual([
    ["infra(model)", undefined],
    ["infra(scorer)", "prose"],
    ["infra(scorer)", "prose"],
  ]);
});

test("the refill is bounded: a step trains on what there is", async () => {
  const c = await collect(
    options([
      ["a-1111", "b-1111"],
      ["c-1111", "d-1111"],
      ["e-1111", "f-0101"],
      ["g-01", "h-01"],
    ]),
  );
  expect(c.batches).toBe(3);
  expect(c.kept.map((j) => j.group.task.id)).toEqual(["f-0101"]);
});

test("filter none keeps ties, filter correct keeps whatever has something right", async () => {
  const none = await collect(
    options([["a-1111", "b-0000"]], { algorithm: { filter: "none", filterMetric: "reward" } }),
  );
  expect(none.kept).toHaveLength(2);
  const correct = await collect(
    options([["a-1111", "b-0000"]], {
      refillBatches: 0,
      algorithm: { filter: "correct", filterMetric: "exactMatch" },
    }),
  );
  expect(correct.kept.map((j) => j.group.task.id)).toEqual(["a-1111"]);
});

test("a group of one has no baseline, whatever the filter", async () => {
  const c = await collect(
    options([["a-1"]], { refillBatches: 0, algorithm: { filter: "none", filterMetric: "reward" } }),
  );
  expect(c.sampled[0]!.verdict).toBe("tooFew");
});
