import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Environment } from "../env/environment.ts";
import { type ResearcherOptions, researcher } from "../env/researcher.ts";
import type { Sampler } from "../rollout/sampler.ts";
import { scriptedSampler, unbatched } from "../rollout/testing.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { runDifference, runFingerprint } from "./testing/run-fingerprint.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

/** Differs between random episodes, so that one step moves the weights. */
const words = ({ sequences }: Trajectory) =>
  sequences.flatMap(({ segments }) => segments.map(({ text }) => text.length)).reduce((a, b) => a + b, 0);

/** The researcher, whose episodes throw while `broken`, and interrupt the command once when told to. */
let broken = false;
let interrupt = false;
const fragile = (parts: ResearcherOptions): Environment => {
  const inner = researcher(parts);
  return {
    ...inner,
    async play(...episode) {
      if (broken) throw new Error("the environment is broken");
      if (interrupt) process.emit("SIGINT");
      interrupt = false;
      return inner.play(...episode);
    },
  };
};

/** A policy that is none of ours. */
const oracle = async ({ tokenizer }: { tokenizer: Tokenizer }): Promise<Sampler> =>
  unbatched(scriptedSampler(tokenizer, () => "<answer> Frank Herbert </answer>"));

let project: Project;
beforeAll(() => {
  project = toyProject({ rewards: { words }, environments: { fragile }, samplers: { oracle } });
});
afterAll(() => project.remove());

const trainFile = `name: toy
config: forager:tiny.yaml
set:
  rl.steps: 2
  sft.steps: 3
  eval.modes: [greedy]
  eval.benchmarks: [{ name: test, source: { kind: world, clusters: 6, split: test, n: 6 } }]
cells:
  words: { reward.weights: { words: 0.01 } }
  fragile: { env.name: fragile }
`;

interface Result {
  rows: { cell: string; seeds: number[]; against?: { verdict: string; seeds: number[] } }[];
  cells: { name: string; changes: { key: string; base?: string; cell?: string }[] }[];
  curves: { metric: string; points: unknown[] }[];
  failed: { cell: string; error: string }[];
}
const read = (path: string) => readFileSync(project.at(path), "utf8");
const resultIn = (out: string) => JSON.parse(read(`${out}/ablation.json`)) as Result;
const cellsOf = (events: readonly Readonly<Record<string, unknown>>[], phase: string) => [
  ...new Set(events.flatMap((each) => (each.event === "step" && each.phase === phase ? [each.cell] : []))),
];

test("a cell that crashes does not stop the rest; cells share warm-up and first episodes, and end as runs of their own", async () => {
  const file = project.write("train-ablation.yaml", trainFile);
  const out = project.at("trained");
  broken = true;
  const first = await project.forager("ablate", file, "--seeds", "1", "--out", out, "--json");
  expect(first.code, first.stderr).toBe(1);
  expect(first.stderr).toMatch(/fragile, seed 1 .* failed: [\s\S]*1 of 3 cells and seeds failed/);
  expect(first.stderr).toContain("one seed: fewer than 3 say nothing of how training comes out");
  expect(cellsOf(first.events, "sft")).not.toContain("words");
  expect(cellsOf(first.events, "rl")).toEqual(["base", "words"]);
  expect(first.stderr).toMatch(/have in common: \d+ played, [1-9]\d* taken from another cell/);
  const partial = resultIn("trained");
  expect(partial.rows.map(({ cell, against }) => [cell, against?.verdict])).toEqual([
    ["base", undefined],
    ["words", "one seed"],
  ]);
  expect(partial.failed).toMatchObject([{ cell: "fragile", error: expect.stringContaining("broken") }]);

  // Sharing changes nothing: the same config alone gives the same run, bit for bit.
  const alone = project.at("alone");
  const config = join(out, "cells/words/config.yaml");
  const run = await project.forager("train", config, "run.seed=1", `run.dir=${alone}`, "--quiet");
  expect(run.code, run.stderr).toBe(0);
  expect(runDifference(runFingerprint(alone), runFingerprint(join(out, "cells/words/seed-1")))).toEqual([]);

  broken = false;
  const again = await project.forager("ablate", file, "--seeds", "1", "--out", out);
  expect(again.code).toBe(2);
  expect(again.stderr).toMatch(/an ablation in this folder already[\s\S]*--resume DIR\/trained/);
  interrupt = true;
  const stopped = await project.forager("ablate", "--resume", out, "--json");
  expect(stopped.code).toBe(130);
  expect(stopped.stderr).toContain("Interrupted. Go on with `forager ablate --resume DIR/trained`");
  const resumed = await project.forager("ablate", "--resume", out, "--json");
  expect(resumed.code, resumed.stderr).toBe(0);
  expect([...cellsOf(stopped.events, "rl"), ...cellsOf(resumed.events, "rl")]).not.toContain("words");
  const whole = resultIn("trained");
  expect(whole.rows.map(({ cell }) => cell)).toEqual(["base", "words", "fragile"]);
  expect(whole.failed).toEqual([]);
  expect(whole.cells[1]?.changes).toEqual([{ key: "reward.weights.words", cell: "0.01" }]);
  expect(whole.curves.map(({ metric }) => metric)).toEqual(
    expect.arrayContaining(["EM test, greedy", "training em", "training reward"]),
  );
  expect(read("trained/ablation.csv").trimEnd().split("\r\n")).toHaveLength(4);
  expect(read("trained/curves.csv")).toMatch(/^metric,cell,seed,step,value\r\n"EM test, greedy",base,1,0,/);
  expect(read("trained/ablation.md")).toContain("## Ablation toy");

  const reported = await project.forager("report", out, "--format", "html,json", "--json");
  expect(reported.code, reported.stderr).toBe(0);
  expect(reported.events.at(-1)).toMatchObject({ kind: "ablation", name: "toy", partial: [] });
  const page = read("trained/report.json");
  expect(JSON.parse(page)).toMatchObject({ ablation: { rows: whole.rows } });
  expect(read("trained/report.html")).toContain("Learning curves");
  // Before the first end there is only the plan: the report is of what is done.
  rmSync(join(out, "ablation.json"));
  rmSync(join(out, "cells/fragile/seed-1/summary.json"));
  const open = await project.forager("report", out, "--format", "json", "--json");
  expect(open.code, open.stderr).toBe(0);
  expect(open.events.at(-1)).toMatchObject({ partial: ["1 of 3 cells and seeds are not done"] });
  expect(JSON.parse(read("trained/report.json"))).toMatchObject({
    ablation: { rows: whole.rows.slice(0, 2) },
  });
}, 120_000);

test("evaluations that differ in scoring alone play their episodes once", async () => {
  const file = project.write(
    "evaluate.yaml",
    `name: scorers
config: train.yaml
what: evaluate
set:
  eval.modes: [greedy]
  eval.benchmarks: [{ name: dev, source: { kind: jsonl, path: ${project.at("questions.jsonl")} } }]
grid:
  reward.normalizer: [squad, strict]
  reward.extraction: [first]
  search.retriever: [empty, oracle]
metric: turns
`,
  );
  const out = project.at("scored");
  const { code, stderr, stdout } = await project.forager("ablate", file, "--out", out);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain("the same config, so one cell: normalizer=squad = base");
  expect(stdout).toContain("have in common: 1 played, 2 taken from another cell");
  expect(stdout).toContain("normalizer=strict is scored otherwise (normalizer squad → strict");
  expect(stdout).toMatch(/^retriever=oracle +dev, greedy +1 +2 /m);
  expect(stdout).toContain('retriever=empty: search.retriever "engine" → "empty"');
  const { rows } = resultIn("scored");
  expect(rows.map(({ cell }) => cell)).toEqual([
    ...["base", "normalizer=strict", "extraction=first", "retriever=empty", "retriever=oracle"],
  ]);
  const again = await project.forager("ablate", "--resume", out);
  expect(again.code, again.stderr).toBe(0);
  expect(again.stdout).not.toContain("taken from another cell");
}, 60_000);

const sampled = (who: string) => `name: own
config: train.yaml
what: evaluate
${who}
set:
  eval.modes: [greedy]
  eval.benchmarks: [{ name: dev, source: { kind: jsonl, path: ${project.at("questions.jsonl")} } }]
grid: { env.maxTurns: [1] }
`;

test("a sampler of the user's own plays the cells", async () => {
  const out = project.at("own");
  const file = project.write("own.yaml", sampled("sampler: oracle"));
  const { code, stderr, stdout } = await project.forager("ablate", file, "--out", out);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^base +dev, greedy +1 +2 +0\.500/m);
  const evaluation = JSON.parse(read("own/cells/base/seed-1/evaluation.json")) as { policy: string };
  expect(evaluation.policy).toBe("own sampler oracle");
  const again = await project.forager("ablate", "--resume", out);
  expect(again.code, again.stderr).toBe(0);
}, 60_000);

describe("one clear error, exit code 2, before anything runs", () => {
  const refused = async (text: string, ...more: string[]) => {
    const file = project.write("refused.yaml", text);
    const result = await project.forager("ablate", file, "--out", project.at("never"), ...more);
    expect(result.code, result.stdout).toBe(2);
    expect(existsSync(project.at("never"))).toBe(false);
    return result.stderr;
  };

  test("a key that no config has, with the nearest; a part that no reward has", async () => {
    expect(await refused("config: train.yaml\ngrid: { rl.fliter: [none] }\n")).toMatch(
      /unknown key `rl\.fliter`[\s\S]*refused\.yaml:2[\s\S]*Did you mean `filter`/,
    );
    const part = `${trainFile}  odd: { reward.weights: { exactMach: 1 } }\n`;
    expect(await refused(part)).toMatch(/exactMach[\s\S]*exactMatch/);
  }, 60_000);

  test("a sampler that is nobody's, one where a path stands, two policies, a step of it, or one that would train", async () => {
    expect(await refused(sampled("sampler: oracel"))).toMatch(
      /no sampler `oracel`[\s\S]*Did you mean `oracle`/,
    );
    expect(await refused(sampled("policy: oracle"))).toMatch(
      /`oracle` is a sampler of yours[\s\S]*Write `sampler: oracle` in its place/,
    );
    expect(await refused(sampled("policy: run\nsampler: oracle"))).toContain("two policies");
    expect(await refused(sampled("sampler: oracle\nstep: 2"))).toContain(
      "--step chooses a checkpoint of a run",
    );
    expect(await refused(`${trainFile}sampler: oracle\n`)).toContain("start from their own model");
    expect(await refused(sampled("policy: nowhere"))).toContain("there is no such policy");
  }, 60_000);

  test("cells at once that share this machine, a policy for runs, seeds that are none, two sources of a plan", async () => {
    expect(await refused(`${trainFile}atOnce: 2\n`)).toMatch(/share its cores[\s\S]*atOnce/);
    expect(await refused(`${trainFile}policy: run\n`)).toMatch(
      /start from their own model[\s\S]*what: evaluate/,
    );
    expect(await refused(trainFile, "--seeds", "1,1")).toContain("these are no seeds");
    expect(await refused(trainFile, "--resume", "x")).toContain("has its own plan");
    const nowhere = await project.forager("ablate", "--resume", project.dir);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining("not an ablation") });
  });

  test("a dry run checks every cell, says what they share and makes nothing", async () => {
    const file = project.write("dry.yaml", trainFile);
    const { code, stdout } = await project.forager("ablate", file, "--out", project.at("never"), "--dry-run");
    expect(code).toBe(0);
    expect(stdout).toContain("toy: train 3 cells under 3 seeds 1, 2, 3");
    expect(stdout).toContain("a seed makes 2 warm-ups and plays step 0 in 2 ways");
    expect(existsSync(project.at("never"))).toBe(false);
  }, 60_000);
});
