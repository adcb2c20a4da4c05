import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Trajectory } from "../rollout/trajectory.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

/** A LoRA run over a model folder, one step in which the adapter moves. */
const words = ({ sequences }: Trajectory) =>
  sequences.flatMap(({ segments }) => segments.map(({ text }) => text.length)).reduce((a, b) => a + b, 0);
const vocabulary = "who wrote Dune Emma was written by Frank Herbert Jane Austen".split(" ");

let project: Project;
let base: string;
beforeAll(async () => {
  project = toyProject({ rewards: { words } });
  base = project.model("base", { words: vocabulary });
  const trained = await project.forager("train", project.at("train.yaml"), ...lora(base), "--quiet");
  expect(trained, trained.stderr).toMatchObject({ code: 0 });
}, 120_000);
afterAll(() => project.remove());

const run = () => project.at("run");
const lora = (path: string, rank = 4) => [
  `model={ path: ${path}, lora: { rank: ${rank}, alpha: 8 } }`,
  "reward.weights={ words: 0.01 }",
  "rl.schedule.learningRate=0.05",
];
let outs = 0;
/** What the policy says, greedily, to the questions of training. */
async function says(config: readonly string[], policy: string, ...words: string[]) {
  const out = project.at(`episodes-${outs++}.jsonl`);
  const all = ["rollout", project.at("train.yaml"), ...config, "--policy", policy, "--out", out, ...words];
  const { code, stderr } = await project.forager(...all);
  if (code !== 0) return { code, stderr, said: "" };
  const lines = readFileSync(out, "utf8").trimEnd().split("\n");
  return { code, stderr, said: JSON.stringify(lines.map((line) => JSON.parse(line).segments)) };
}

test("a LoRA run, its merged folder and its bare adapter say the same; its base does not", async () => {
  const last = await says(lora(base), run());
  expect(last, last.stderr).toMatchObject({ code: 0 });
  const merged = await project.forager("merge", run(), "--out", project.at("merged"));
  expect(merged, merged.stderr).toMatchObject({ code: 0 });
  expect((await says(lora(base), project.at("merged"))).said).toBe(last.said);
  const adapter = join(run(), "checkpoints", "rl-000001", "adapter");
  expect((await says(lora(base), adapter)).said).toBe(last.said);
  expect((await says(lora(base), base)).said).not.toBe(last.said);
  expect((await says(lora(base), run(), "--step", "0")).said).not.toBe(last.said);
}, 60_000);

test("the adapter the config would train, and even its base, do not matter: the checkpoint knows its own", async () => {
  const last = await says(lora(base), run());
  expect((await says(lora(base, 2), run())).said).toBe(last.said);
  const other = project.model("other", { words: vocabulary, seed: 2 });
  expect((await says(lora(other), run())).said).toBe(last.said);
  expect((await says(lora(other), other)).said).not.toBe(last.said);
}, 60_000);

test("a base model that moved is found again as model.path, and another in its place is refused", async () => {
  const last = await says(lora(base), run());
  renameSync(base, project.at("moved"));
  expect((await says(lora(project.at("moved")), run())).said).toBe(last.said);
  const wrong = project.model("wrong", { words: vocabulary, seed: 3 });
  const refused = await says(lora(wrong), run());
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/not those that were saved[\s\S]*base model DIR\/base\)[\s\S]*model\.path/);
  renameSync(project.at("moved"), base);
}, 60_000);
