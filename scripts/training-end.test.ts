import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import type { StepMetrics } from "../track/run-db.ts";
import { openRunNumbers } from "../track/run-numbers.ts";
import { sampledTokens } from "../track/sampled-tokens.ts";
import { runDifference, runFingerprint } from "./testing/run-fingerprint.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";
import { trainingOver } from "./training-end.ts";

const steps: StepMetrics[] = [
  { phase: "sft", step: 1, metrics: { tokens: 500 } },
  { phase: "rl", step: 1, metrics: { sampled_tokens: 40 } },
  { phase: "rl", step: 2, metrics: { policy_tokens: 2.5, episodes: 24 } },
];

test("tokens of an earlier version's steps are told from their means; a warm-up samples none", () => {
  expect(sampledTokens(steps)).toBe(100);
  expect(sampledTokens(steps, 1)).toBe(40);
});

test("training is over by its steps, or after the step that reaches the tokens", () => {
  const over = (sampledTokens: number | undefined, step: number) =>
    trainingOver({ steps: 3, sampledTokens }, step, () => steps);
  expect([1, 2, 3].map((step) => over(undefined, step))).toEqual([false, false, true]);
  expect([1, 2].map((step) => over(100, step))).toEqual([false, true]);
  expect([1, 2, 3].map((step) => over(101, step))).toEqual([false, false, true]);
});

/** A part of the reward that counts the episodes: scoring one of them interrupts the command. */
let interruptAt = Number.POSITIVE_INFINITY;
let scored = 0;
const counted = () => {
  if (++scored === interruptAt) process.emit("SIGINT");
  return 0;
};

let project: Project;
beforeAll(() => {
  project = toyProject({ rewards: { counted } });
});
afterAll(() => project.remove());

const begin = (name: string) =>
  project.forager(
    ...[
      "train",
      join(packageRoot(), "configs/tiny.yaml"),
      `run.dir=${project.at(name)}`,
      "reward.keep=[counted]",
    ],
    ...["rl.steps=9", "rl.sampledTokens=2000", "sft.steps=2", "eval.every=0", "track.saveEvery=5", "--quiet"],
    ...["rollout.tasksPerStep=2", "eval.modes=[greedy]"],
  );
const read = (name: string) =>
  JSON.parse(readFileSync(project.at(`${name}/summary.json`), "utf8")) as {
    status: string;
    steps: number;
    sampledTokens: number;
    evals: { step: number }[];
  };

test("a run ends by its tokens with an evaluation and a checkpoint, and one that was stopped ends there too", async () => {
  const { code, stderr } = await begin("whole");
  expect(code, stderr).toBe(0);
  const numbers = openRunNumbers(project.at("whole"));
  const rl = numbers.steps.filter(({ phase }) => phase === "rl");
  numbers.close();
  const total = sampledTokens(rl);
  expect(total).toBeGreaterThanOrEqual(2000);
  expect(sampledTokens(rl.slice(0, -1))).toBeLessThan(2000);
  expect(rl.length).toBeGreaterThan(2);
  expect(rl.length).toBeLessThan(9);
  const summary = read("whole");
  expect(summary).toMatchObject({ status: "done", steps: rl.length, sampledTokens: total });
  expect(summary.evals.map(({ step }) => step)).toEqual([0, rl.length]);

  [scored, interruptAt] = [0, Math.round(0.6 * scored)];
  expect((await begin("stopped")).code).toBe(130);
  const early = read("stopped");
  expect(early).toMatchObject({ status: "interrupted" });
  expect(early.steps).toBeGreaterThan(0);
  expect(early.sampledTokens).toBeLessThan(2000);
  const resumed = await project.forager("train", "--resume", project.at("stopped"), "--quiet");
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(runDifference(runFingerprint(project.at("whole")), runFingerprint(project.at("stopped")))).toEqual(
    [],
  );
  const again = await project.forager("train", "--resume", project.at("whole"));
  expect(again.stdout).toContain("This run is finished");
}, 60_000);
