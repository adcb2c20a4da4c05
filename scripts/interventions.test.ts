import { readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CheckpointState } from "../rl/run-checkpoint.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { openRunDb } from "../track/run-db.ts";
import { runDifference, runFingerprint } from "./testing/run-fingerprint.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

const versionOf = ({ sequences }: Trajectory) =>
  sequences.flatMap(({ segments }) => segments).find(({ version }) => version !== undefined)?.version;

/** Something to learn for a policy that knows nothing: how long its text is. */
const unlike = ({ sequences }: Trajectory) => (JSON.stringify(sequences).length % 7) / 7;
/** A policy that forgets the protocol once, as version 5, whatever it writes. */
const unruly = (trajectory: Trajectory) => Number(versionOf(trajectory) === 5);

let project: Project;
const steps = 9;
const rule =
  "rl.interventions={stableRestart: {when: {metric: reward/unruly, window: 1, baseline: 2, stableSteps: 1}, cooldownSteps: 2}}";
const train = (dir: string, ...words: string[]) =>
  project.forager(
    ...["train", project.at("train.yaml"), `run.dir=${project.at(dir)}`, "--json"],
    ...[`rl={steps: ${steps}, slots: 256, filter: none}`, "rl.schedule.learningRate=0.01"],
    ...["reward.weights={unlike: 1}", "reward.keep=[unruly]", "track={saveEvery: 2, keepCheckpoints: 99}"],
    ...words,
  );
const stateOf = (dir: string, step: number) =>
  JSON.parse(
    readFileSync(project.at(`${dir}/checkpoints/rl-00000${step}/state.json`), "utf8"),
  ) as CheckpointState;
const recorded = (dir: string) => {
  const db = openRunDb(project.at(dir));
  try {
    return { events: db.events("intervention"), rates: db.metrics().map(({ metrics }) => metrics.lr) };
  } finally {
    db.close();
  }
};

beforeAll(async () => {
  project = toyProject({ rewards: { unlike, unruly } });
  const { code, stderr } = await train("whole", rule);
  expect([code, stderr]).toEqual([0, expect.stringContaining("step 6: stableRestart")]);
}, 120_000);
afterAll(() => project.remove());

test("format failures jump, and the run goes on from the last stable checkpoint at half the rate", () => {
  const { events, rates } = recorded("whole");
  expect(events).toEqual([
    {
      ...{ phase: "rl", step: 6, name: "intervention" },
      data: {
        ...{ rule: "stableRestart", step: 6, evidence: { failures: 1, failuresBefore: 0 } },
        actions: [
          { do: "learningRate", factor: 0.5, least: 0 },
          { do: "restart", from: 4 },
        ],
        says: expect.stringContaining("the checkpoint of step 4"),
      },
    },
  ]);
  expect(rates).toEqual([...new Array(6).fill(0.01), ...new Array(3).fill(0.005)]);
  const [stable, after, end] = [stateOf("whole", 4), stateOf("whole", 6), stateOf("whole", 9)];
  expect(after).toMatchObject({ weightsSha256: stable.weightsSha256, adamStep: 4 });
  const moments = (step: number) =>
    readFileSync(project.at(`whole/checkpoints/rl-00000${step}/optimizer.safetensors`));
  expect(moments(6).equals(moments(4))).toBe(true);
  // Version 4 was version 4, step 6 made 6: the restart is 7, and three more steps follow.
  expect([stable.version, after.version, end.version]).toEqual([4, 7, 10]);
  expect(end.weightsSha256).not.toBe(stable.weightsSha256);
});

test.each([8, 6, 4, 0])(
  "killed after step %i and resumed, it ends as the whole run did",
  async (last) => {
    const whole = runFingerprint(project.at("whole"));
    rmSync(project.at("whole/summary.json"));
    for (let step = last + 1; step <= steps; step++)
      rmSync(project.at(`whole/checkpoints/rl-00000${step}`), { recursive: true, force: true });
    const { code } = await project.forager("train", "--resume", project.at("whole"), "--quiet");
    expect(code).toBe(0);
    expect(runDifference(whole, runFingerprint(project.at("whole")))).toEqual([]);
  },
  60_000,
);

test("the checkpoint that a restart may need outlives those that are not kept", async () => {
  const { code, stderr } = await train("pruned", rule, "track.keepCheckpoints=1", "track.saveEvery=1");
  expect(code).toBe(0);
  expect(stderr).not.toContain("is gone");
  expect(recorded("pruned").events[0]?.data).toMatchObject({ actions: [{}, { do: "restart", from: 4 }] });
  const { weightsSha256 } = stateOf("whole", 9);
  expect(stateOf("pruned", 9).weightsSha256).toBe(weightsSha256);
}, 60_000);

test("rules that never act leave every bit of a run as it is", async () => {
  const source = `{kind: jsonl, path: ${project.at("questions.jsonl")}}`;
  const evals = `eval={benchmarks: [{name: b, source: ${source}}], modes: [greedy], every: 3}`;
  const rules = "rl.interventions={processWeight: {act: {parts: [unlike]}}, stableRestart: {}}";
  const runs = [await train("plain", evals), await train("watched", evals, rules)];
  expect(runs.map(({ code }) => code)).toEqual([0, 0]);
  expect(recorded("watched").events).toEqual([]);
  expect(stateOf("watched", 9)).toEqual(stateOf("plain", 9));
  expect(stateOf("plain", 9).weightsSha256).not.toBe(stateOf("whole", 9).weightsSha256);
}, 60_000);
