import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import { openRunDb, type TrajectoryRecord } from "./run-db.ts";
import { type GroupStore, openGroups } from "./stored-groups.ts";

let folder = "";
let store: GroupStore | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-groups-"));
});
afterEach(() => {
  store?.close();
  rmSync(folder, { recursive: true, force: true });
});

const task = { ...toyTask, dataset: "nq", hops: 2, supportingIds: ["p1", "p2"] };
const scored = (member: number, answer: string) => ({
  ...toyTrajectory([`<answer>${answer}</answer>`, ["observation", "so it is"]], { task, member }),
  ...{ parts: { exactMatch: member }, reward: member, prediction: answer },
});

function commit(step: number, trajectories: readonly TrajectoryRecord[]): void {
  const db = openRunDb(folder);
  db.commit({ phase: "rl", step, metrics: { em: 1 }, trajectories });
  db.close();
}

const open = () => {
  store = openGroups(folder, 0.7);
  return store;
};

const kept = (group: number, ...members: number[]): TrajectoryRecord[] =>
  members.map((member) => ({
    trajectory: scored(member, `answer ${member}`),
    ...{ group, verdict: "kept", advantage: member - 0.5 },
  }));

test("what comes back is what was scored: question, texts, numbers of tokens, end, reward, parts, advantage", () => {
  commit(1, kept(0, 0, 1));
  const [step] = [...open().steps()];
  expect(step).toMatchObject({ step: 1, failed: 0 });
  const [group] = step!.groups;
  expect(group).toMatchObject({ step: 1, group: 0, verdict: "kept", task });
  const member = group!.members[1]!;
  expect(member).toMatchObject({
    reward: 1,
    parts: { exactMatch: 1 },
    prediction: "answer 1",
    advantage: 0.5,
  });
  const original = scored(1, "answer 1");
  const { trajectory } = member;
  expect({ ...trajectory, sequences: [] }).toEqual({
    ...toyTrajectory([], { task, member: 1, ending: original.ending!, temperature: 0.7 }),
    sequences: [],
  });
  const shape = ({ sequences }: typeof trajectory) =>
    sequences.map(({ seat, segments }) => ({
      seat,
      segments: segments.map(({ source, text, tokens }) => [source, text, tokens.length]),
    }));
  expect(shape(trajectory)).toEqual(shape(original));
});

test("steps and groups in order, each whole, a step at a time; what is in no group is counted", () => {
  const failed = { ...toyTrajectory([], { outcome: "infra(model)" }), member: 0 };
  commit(1, [...kept(0, 0, 1), ...kept(1, 0), { trajectory: failed, group: -1, verdict: "failed" }]);
  commit(2, kept(0, 0, 1, 2));
  expect(open().episodes).toBe(7);
  const told = [...store!.steps()].map(({ step, groups, failed: left }) => [
    step,
    groups.map(({ group, members }) => [group, members.length]),
    left,
  ]);
  expect(told).toEqual([
    [
      1,
      [
        [0, 2],
        [1, 1],
      ],
      1,
    ],
    [2, [[0, 3]], 0],
  ]);
  expect(store!.partNames()).toEqual(["exactMatch"]);
});

test("it can be read while the run goes on, and leaves nothing behind", () => {
  commit(1, kept(0, 0, 1));
  const steps = open().steps();
  expect(steps.next().value).toMatchObject({ step: 1 });
  commit(2, kept(0, 0));
  expect(steps.next().done).toBe(true);
  store!.close();
  store = undefined;
  expect(readdirSync(folder)).toEqual(["run.db"]);
});

test("credits and advantages of turns come back as they were, and only where there are some", () => {
  const [plain, credited] = kept(0, 0, 1) as [TrajectoryRecord, TrajectoryRecord];
  const turns = { turnCredits: [[1 / 3, 0.5]], turnAdvantages: [[0.1 + 0.2, -0.5]] };
  const { turnCredits, turnAdvantages } = turns;
  const trajectory = { ...credited.trajectory, turnCredits };
  commit(1, [plain, { ...credited, trajectory, turnAdvantages }]);
  const [first, second] = [...open().steps()][0]!.groups[0]!.members;
  expect(second).toMatchObject(turns);
  expect(Object.keys(first!).filter((name) => name.startsWith("turn"))).toEqual([]);
  const db = openRunDb(folder);
  expect(db.trajectories(1)[1]).toMatchObject(turns);
  expect(Object.keys(db.trajectories(1)[0]!).filter((name) => name.startsWith("turn"))).toEqual([]);
  db.close();
});

test("a store of an earlier version has no turns, and can be written on with them", () => {
  commit(1, kept(0, 0));
  const old = new Database(join(folder, "run.db"));
  for (const name of ["turn_credits", "turn_advantages"])
    old.exec(`ALTER TABLE trajectories DROP COLUMN ${name}`);
  old.close();
  expect([...open().steps()][0]!.groups[0]!.members[0]).not.toHaveProperty("turnCredits");
  store!.close();
  commit(2, [{ ...kept(0, 1)[0]!, turnAdvantages: [[0.25]] }]);
  expect([...open().steps()][1]!.groups[0]!.members[0]).toMatchObject({ turnAdvantages: [[0.25]] });
});

test("a store of an earlier version has no ids of gold passages, says so, and can be written on", () => {
  commit(1, kept(0, 0));
  const old = new Database(join(folder, "run.db"));
  old.exec("ALTER TABLE trajectories DROP COLUMN task");
  old.close();
  expect(open().withTasks).toBe(false);
  expect([...store!.steps()][0]!.groups[0]!.task).toEqual({
    ...{ id: toyTask.id, question: toyTask.question, goldenAnswers: toyTask.goldenAnswers },
    ...{ dataset: "", hops: 1 },
  });
  store!.close();
  commit(2, kept(0, 1));
  const [, second] = [...open().steps()];
  expect(second!.groups[0]!).toMatchObject({ task, members: [{ reward: 1 }] });
});

test("no store, or something else under its name, is an error that says what to do", () => {
  expect(open).toThrow(/the run has no episodes yet/);
  const other = new Database(join(folder, "run.db"));
  other.exec("CREATE TABLE x (y)");
  other.close();
  expect(open).toThrow(/cannot read the run's store/);
});
