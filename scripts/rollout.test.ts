import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sampler } from "../rollout/sampler.ts";
import { scriptedSampler, unbatched } from "../rollout/testing.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

/** Right about Dune, wrong about Emma. */
const oracle = async ({ tokenizer }: { tokenizer: Tokenizer }): Promise<Sampler> =>
  unbatched(
    scriptedSampler(tokenizer, (_request, turn) =>
      turn === 0 ? "<search> wrote </search>" : "<answer> Frank Herbert </answer>",
    ),
  );

let project: Project;
let benchmark: string;
beforeAll(() => {
  project = toyProject({ samplers: { oracle } });
  const source = `{ kind: jsonl, path: ${project.at("questions.jsonl")} }`;
  benchmark = `eval.benchmarks=[{ name: dev, source: ${source} }]`;
});
afterAll(() => project.remove());
const rollout = (...words: string[]) =>
  project.forager("rollout", project.at("train.yaml"), benchmark, ...words);

test("whole episodes, plain off a terminal: who wrote what, answer, gold, reward and its parts", async () => {
  const { code, stdout, stderr } = await rollout("--policy", "oracle", "--print");
  expect(code, stderr).toBe(0);
  expect(stdout).not.toContain("\u001b");
  expect(stdout).toContain("dev has 2 questions: all are played");
  expect(stdout).toMatch(
    /who wrote Dune[\s\S]*── policy[\s\S]*<search> wrote <\/search>[\s\S]*── observation[\s\S]*answered, 2 turns, 1 searches/,
  );
  expect(stdout).toMatch(
    /^gold +Frank Herbert\nanswer +Frank Herbert +right\nreward +1 +\(exactMatch 1, f1 1/m,
  );
  expect(stdout).toMatch(/^gold +Jane Austen\nanswer +Frank Herbert +wrong\nreward +0\.1 /m);
  expect(stdout).toContain("2 episodes  EM 0.500  reward 0.550  answered 2");
}, 60_000);

test("a file that score and sft read back, right ones alone when asked; never overwritten", async () => {
  const out = project.at("right.jsonl");
  const words = [
    "--policy",
    "oracle",
    "--samples",
    "2",
    "--only",
    "right",
    "--out",
    out,
    "--json",
    "--quiet",
  ];
  const { code, stderr, events } = await rollout(...words);
  expect(code, stderr).toBe(0);
  expect(events.map(({ event, id }) => [event, id])).toEqual([
    ["episode", "q1"],
    ["episode", "q1"],
    ["result", undefined],
  ]);
  expect(events.at(-1)).toMatchObject({ n: 2, em: 1, failed: 0, out: "DIR/right.jsonl" });
  const score = await project.forager("score", out, "--json");
  expect(score.events.at(-1)).toMatchObject({ n: 2, em: 1 });
  const sft = await project.forager(
    ...["sft", project.at("train.yaml"), `sft.source={ kind: trajectories, path: ${out} }`],
    ...["sft.steps=1", "sft.slots=256", "--quiet"],
  );
  expect(sft, sft.stderr).toMatchObject({ code: 0 });

  const before = readFileSync(out, "utf8");
  const again = await rollout(...words);
  expect(again.code).toBe(2);
  expect(again.stderr).toContain("exists already");
  expect(readFileSync(out, "utf8")).toBe(before);
}, 60_000);

test("the episodes of a benchmark are those that eval measures", async () => {
  for (const mode of ["greedy", "sampled"]) {
    const seen = await rollout("--mode", mode, "--json", "--quiet");
    const out = project.at(`eval-${mode}`);
    await project.forager("eval", project.at("train.yaml"), benchmark, `eval.modes=[${mode}]`, "--out", out);
    const text = readFileSync(join(out, `dev-0-${mode}`, "records.jsonl"), "utf8").trimEnd();
    const measured = text.split("\n").map((line) => JSON.parse(line) as { id: string; segments: unknown });
    expect(seen.events.slice(0, -1).map(({ id, segments }) => ({ id, segments }))).toEqual(
      measured.map(({ id, segments }) => ({ id, segments })),
    );
  }
}, 60_000);

test("questions of training, and one by its id", async () => {
  const ids = (events: readonly Readonly<Record<string, unknown>>[]) =>
    events.slice(0, -1).map(({ id }) => id);
  const train = await rollout("--split", "train", "--n", "50", "--json");
  expect(ids(train.events).sort()).toEqual(["q1", "q2"]);
  const one = await rollout("--question", "q2", "--json");
  expect(ids(one.events)).toEqual(["q2"]);
}, 60_000);

test.each([
  [["--split", "dve"], /no split `dve`[\s\S]*Did you mean `dev`/],
  [["--question", "q9"], /no question with this id[\s\S]*such as q/],
  [["--n", "0"], /--n is wrong/],
  [["--n", "1.5"], /--n is wrong/],
  [["--samples", "2", "--mode", "greedy"], /all the same/],
  [["--mode", "hot"], /greedy/],
  [["--policy", "oracel"], /no such policy/],
] as const)(
  "%j is refused",
  async (words, message) => {
    const { code, stderr } = await rollout(...words, "--out", project.at("never.jsonl"));
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(existsSync(project.at("never.jsonl"))).toBe(false);
  },
  60_000,
);
