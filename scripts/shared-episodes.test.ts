import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Task } from "../datasets/task.ts";
import type { Rolled } from "../rollout/groups.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { sharedEpisodes } from "./shared-episodes.ts";

const folders: string[] = [];
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "forager-shared-"));
  folders.push(made);
  return made;
};
afterEach(() => {
  for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true });
});

const task: Task = { id: "q", question: "?", goldenAnswers: ["a", "the"], dataset: "toy", hops: 1 };
const trajectory: Trajectory = {
  task,
  member: 0,
  sequences: [
    {
      seat: "researcher",
      segments: [{ source: "policy", tokens: [1, 2], text: "x", logprobs: [-0.1, -1 / 3], version: 0 }],
    },
  ],
  outcome: "answered",
  temperature: 1,
  seconds: 0.1,
};
const rolled: Rolled = { groups: [{ task, members: [trajectory] }], tooFew: [], leftOut: [], retried: [] };
const batch = { tasks: [task], draws: { step: 0 } };

test("the first plays, others get the same numbers with their own gold answers, also in a later process", async () => {
  const at = folder();
  const one = sharedEpisodes(at);
  expect(await one.of("key")(batch, async () => rolled)).toBe(rolled);
  const own: Task = { ...task, goldenAnswers: ["a"] };
  const never = () => Promise.reject(new Error("played again"));
  const later = sharedEpisodes(at);
  const again = await later.of("key")({ ...batch, tasks: [own] }, never);
  expect(again.groups[0]?.task).toBe(own);
  expect(again.groups[0]?.members[0]).toEqual({ ...trajectory, task: own });
  expect([one.counts, later.counts]).toEqual([
    { played: 1, reused: 0 },
    { played: 0, reused: 1 },
  ]);
});

test("another policy, other draws and other questions are other episodes", async () => {
  const { of, counts } = sharedEpisodes(folder());
  const play = async () => rolled;
  await of("key")(batch, play);
  await of("other")(batch, play);
  await of("key")({ ...batch, draws: { step: 1 } }, play);
  await of("key")({ ...batch, tasks: [{ ...task, id: "r" }] }, play);
  expect(counts).toEqual({ played: 4, reused: 0 });
});

test("who asks while another plays waits; what infrastructure broke is played again", async () => {
  const { of, counts } = sharedEpisodes(folder());
  let finish = (_: Rolled) => {};
  const slow = of("key")(batch, () => new Promise((done) => (finish = done)));
  const second = of("key")(batch, async () => rolled);
  await Promise.resolve();
  finish({ ...rolled, leftOut: [{ ...trajectory, outcome: "infra(model)" }] });
  expect((await slow).leftOut).toHaveLength(1);
  expect(await second).toBe(rolled);
  expect(counts).toEqual({ played: 2, reused: 0 });
  const failed = of("new")(batch, () => Promise.reject(new Error("down")));
  const next = of("new")(batch, async () => rolled);
  await expect(failed).rejects.toThrow("down");
  expect(await next).toBe(rolled);
});
