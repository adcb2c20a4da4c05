import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

/** A step or two of everything, from random weights. */
const tiny = join(packageRoot(), "configs/tiny.yaml");
let project: Project;
beforeAll(() => {
  project = toyProject();
});
afterAll(() => project.remove());
const train = (name: string, ...overrides: string[]) =>
  project.forager(
    ...["train", tiny, `run.dir=${project.at(name)}`, "sft.steps=1", "rl.steps=1", "rollout.tasksPerStep=2"],
    ...["eval.benchmarks=[]", ...overrides],
  );
const read = (name: string) => readFileSync(project.at(name), "utf8");

describe("a run that diverges", () => {
  // The bonus gives a gradient where random weights earn no reward.
  const wild = ["rl.schedule.learningRate=1e30", "rl.entropyCoefficient=0.1"];

  test("ends as failed, with exit code 1, the knob to turn, and its last good checkpoint", async () => {
    const { code, stderr } = await train("wild", ...wild);
    expect(code).toBe(1);
    expect(stderr).toMatch(/error: the training diverged[\s\S]*next +.*lower rl\.schedule\.learningRate/);
    expect(stderr).not.toMatch(/\.ts:\d+/);
    const summary = JSON.parse(read("wild/summary.json"));
    expect(summary).toMatchObject({ status: "failed", steps: 0, error: expect.stringMatching(/diverged/) });
    expect(readdirSync(project.at("wild/checkpoints"))).toEqual(["rl-000000", "sft-000001"]);
    expect(JSON.parse(read("wild/checkpoints/rl-000000/state.json")).weightsSha256).toBe(
      summary.weightsSha256,
    );
    expect(read("wild/metrics.jsonl")).not.toMatch(/null|"phase":"rl"/);
  });

  test("is not finished: resumed, it says the same again", async () => {
    const { code, stdout, stderr } = await project.forager("train", "--resume", project.at("wild"));
    expect(code).toBe(1);
    expect(stdout).not.toContain("Nothing to do");
    expect(stderr).toContain("the training diverged");
  });

  test("in the warm-up names the warm-up's learning rate", async () => {
    const { code, stderr } = await train(
      "wild-sft",
      "sft.schedule.learningRate=1e30",
      "sft.schedule.warmupSteps=0",
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(/error: the training diverged[\s\S]*lower sft\.schedule\.learningRate/);
  });
});

test("a GRPO run: no word of a filter that it has not, the KL it trains on, no columns that stay 0", async () => {
  const { code, stdout, stderr } = await train("grpo", "rl.preset=grpo");
  expect(code).toBe(0);
  expect(stderr).not.toContain("filtered on the reward");
  const line = stdout.split("\n").find((each) => each.startsWith("rl 1/1"));
  expect(line).toMatch(/ {2}ref 0\.0000 {2}grad /);
  expect(line).not.toMatch(/ kl | clip /);
  expect(stdout).toMatch(/loss mean loss[\s\S]*\nsft 1\/1[\s\S]*em exact match[\s\S]*\nrl 1\/1/);
  expect(stdout).toMatch(/\ntotal time [\d.]+s/);
  expect(stdout).toMatch(/next: npx forager report \S+grpo .*\n +npx forager rollout .*\n +npx forager play/);
  const [step] = read("grpo/metrics.jsonl")
    .trim()
    .split("\n")
    .slice(-1)
    .map((each) => JSON.parse(each));
  expect(step).toMatchObject({ kl_ref: expect.any(Number), loss: expect.any(Number), retries: 0 });
});

test("std-normalised advantages with groups filtered on the reward are warned of", async () => {
  const { stderr } = await train(
    "warned",
    "rl.advantage=grpo",
    "rl.filter=spread",
    "rollout.refillBatches=0",
  );
  expect(stderr).toContain("filtered on the reward");
});
