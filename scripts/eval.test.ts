import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SamplerError } from "../core/errors.ts";
import type { Sampler } from "../rollout/sampler.ts";
import { scriptedSampler, unbatched } from "../rollout/testing.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

/** Searches, then knows who wrote Dune and guesses it for every other book. Fails while `broken`. */
let broken = false;
let asked = 0;
const oracle = async ({ tokenizer }: { tokenizer: Tokenizer }): Promise<Sampler> =>
  unbatched(
    scriptedSampler(tokenizer, (_request, turn) => {
      asked++;
      if (broken) return new SamplerError({ what: "the server is down" });
      return turn === 0 ? "<search> wrote </search>" : "<answer> Frank Herbert </answer>";
    }),
  );

/** Differs between random episodes, so that one step moves the weights. */
const words = ({ sequences }: Trajectory) =>
  sequences.flatMap(({ segments }) => segments.map(({ text }) => text.length)).reduce((a, b) => a + b, 0);

let project: Project;
let benchmark: string;
beforeAll(async () => {
  project = toyProject({ samplers: { oracle }, rewards: { words } });
  const source = `{ kind: jsonl, path: ${project.at("questions.jsonl")} }`;
  benchmark = `eval.benchmarks=[{ name: dev, source: ${source} }]`;
  const trained = await project.forager(
    "train",
    project.at("train.yaml"),
    benchmark,
    "reward.weights={ words: 0.01 }",
    "--quiet",
  );
  expect(trained, trained.stderr).toMatchObject({ code: 0 });
}, 120_000);
afterAll(() => project.remove());

const config = () => project.at("train.yaml");
const run = () => project.at("run");
const evaluated = async (out: string, ...words: string[]) =>
  project.forager("eval", config(), benchmark, "--out", project.at(out), "--json", "--quiet", ...words);
const records = (out: string, step: number, mode = "greedy") =>
  readFileSync(join(project.at(out), `dev-${step}-${mode}`, "records.jsonl"), "utf8");
const segments = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { segments: unknown }).segments);

test("EM with its interval, EM@k, turns and searches, for people and as JSON; the second time from the records", async () => {
  const words = [
    "eval",
    config(),
    benchmark,
    "--policy",
    "oracle",
    "eval.emAt=[1, 2]",
    "--out",
    project.at("own"),
  ];
  asked = 0;
  const people = await project.forager(...words);
  expect(people, people.stderr).toMatchObject({ code: 0 });
  expect(people.stdout).toMatch(/^all +2 +0\.500 \[0\.095, 0\.905\] +0\.500 \[0\.095, 0\.905\]$/m);
  expect(people.stdout).toMatch(/^EM@1 +1 /m);
  expect(people.stdout).toMatch(/^searches +1\.00 +1\.00$/m);
  expect(people.stdout).toMatch(/^0 +dev +greedy +2 +0\.500/m);
  expect(asked).toBe(8);
  const again = await project.forager(...words, "--json");
  expect(asked).toBe(8);
  expect(again.stderr).toContain("4 episodes were recorded there earlier");
  const { event, evals, policy } = again.events.at(-1) as { event: string; evals: object[]; policy: string };
  expect([event, policy]).toEqual(["result", "own sampler oracle"]);
  expect(evals).toMatchObject([
    { mode: "greedy", n: 2, em: 0.5, turns: 2, searches: 1, emAt: { 2: { n: 2, em: 0.5 } } },
    { mode: "sampled", n: 2, em: 0.5 },
  ]);
  expect(JSON.parse(readFileSync(project.at("own/evaluation.json"), "utf8"))).toMatchObject({ evals });
}, 60_000);

test("a run, its checkpoint and its merged folder are one policy; --step chooses another; the config alone is the start", async () => {
  const last = await evaluated("last", "--policy", run());
  expect(last, last.stderr).toMatchObject({ code: 0 });
  const summary = JSON.parse(readFileSync(join(run(), "summary.json"), "utf8")) as { weightsSha256: string };
  expect(last.events.at(-1)).toMatchObject({ step: 1, weightsSha256: summary.weightsSha256 });

  const checkpoint = join(run(), "checkpoints", "rl-000001");
  expect(await evaluated("at", "--policy", checkpoint)).toMatchObject({ code: 0 });
  expect(records("at", 1)).toBe(records("last", 1));
  const merged = await project.forager("merge", run(), "--out", project.at("merged"));
  expect(merged, merged.stderr).toMatchObject({ code: 0 });
  expect(await evaluated("model", "--policy", project.at("merged"))).toMatchObject({ code: 0 });
  expect(segments(records("model", 0, "sampled"))).toEqual(segments(records("last", 1, "sampled")));

  const first = await evaluated("first", "--policy", run(), "--step", "0");
  expect(first.events.at(-1)?.weightsSha256).not.toBe(summary.weightsSha256);
  expect(first.events.at(-1)).toMatchObject({ step: 0, policy: expect.stringContaining("rl-000000") });
  const alone = await project.forager(
    "eval",
    join(run(), "config.yaml"),
    "--out",
    project.at("alone"),
    "--json",
  );
  const shas = [first, alone].map(({ events }) => events.at(-1)?.weightsSha256);
  expect(shas[1], "the start is step 0").toBe(shas[0]);
  expect(alone.stderr).toContain("what it became is --policy DIR/run");
}, 60_000);

test("an evaluation that infrastructure broke ends with 1 and the commonest reason, and is mended by running again", async () => {
  broken = true;
  const words = ["--policy", "oracle", "rollout.retries=0"];
  const failed = await evaluated("mended", ...words);
  expect(failed.code).toBe(1);
  expect(failed.stderr).toMatch(/evaluation of dev, greedy does not count[\s\S]*the server is down/);
  expect(failed.events.at(-1)).toMatchObject({ event: "error", exitCode: 1 });
  broken = false;
  const mended = await evaluated("mended", ...words);
  expect(mended, mended.stderr).toMatchObject({ code: 0 });
  expect(mended.events.at(-1)).toMatchObject({ evals: [{ em: 0.5, infra: 0 }, { em: 0.5 }] });
}, 60_000);

test("prices price what is recorded, as Markdown too, and the manifest says what scored it", async () => {
  const words = ["eval", config(), benchmark, "--policy", "oracle", "--out", project.at("priced")];
  const free = await project.forager(...words, "--json", "--quiet");
  expect(free.stdout).not.toContain('"cost"');
  asked = 0;
  const prices =
    "eval.prices={ currency: EUR, promptPerMillionTokens: 1000, completionPerMillionTokens: 5000 }";
  const paid = await project.forager(...words, prices, "--markdown");
  expect(paid, paid.stderr).toMatchObject({ code: 0 });
  expect(asked).toBe(0);
  expect(paid.stdout).toMatch(/^\| EUR in all \| +\| [\d.]+ \| [\d.]+ \|$/m);
  expect(paid.stdout).toContain("| searches | cost | failed |");
  const manifest: unknown = JSON.parse(
    readFileSync(join(project.at("priced"), "dev-0-greedy", "manifest.json"), "utf8"),
  );
  expect(manifest).toMatchObject({ normalizer: "squad", "reward.weights.exactMatch": 1 });
  expect(JSON.stringify(manifest)).not.toContain("EUR");
}, 60_000);

test("a torn record is played again, a damaged one is named, another evaluation's folder refused", async () => {
  const words = ["--policy", "oracle"];
  await evaluated("torn", ...words);
  const path = join(project.at("torn"), "dev-0-greedy", "records.jsonl");
  const whole = readFileSync(path, "utf8");
  writeFileSync(path, whole.slice(0, -20));
  expect(await evaluated("torn", ...words)).toMatchObject({ code: 0 });
  expect(readFileSync(path, "utf8")).toBe(whole);

  appendFileSync(path, '{"id": 1}\n');
  const damaged = await evaluated("torn", ...words);
  expect(damaged.code).toBe(2);
  expect(damaged.stderr).toContain("records.jsonl:3");
  writeFileSync(path, whole);
  const other = await evaluated("torn", ...words, "eval.seed=2");
  expect(other.code).toBe(2);
  expect(other.stderr).toMatch(/records of another evaluation[\s\S]*seed: 1/);
}, 60_000);

describe("one clear error, exit code 2, and no folder left behind", () => {
  const refused = async (...words: string[]) => {
    const result = await project.forager("eval", "--out", project.at("never"), ...words);
    expect(result.code, result.stdout).toBe(2);
    expect(existsSync(project.at("never"))).toBe(false);
    return result.stderr;
  };

  test("no benchmark", async () => {
    expect(await refused(config())).toMatch(/names no benchmark[\s\S]*eval\.benchmarks/);
  });

  test("what is no policy, a step that is not kept, a step of nothing", async () => {
    const nowhere = await refused(config(), benchmark, "--policy", project.at("nowhere"));
    expect(nowhere).toMatch(/no such policy[\s\S]*samplers: oracle/);
    expect(await refused(config(), benchmark, "--policy", project.dir)).toContain("this is no policy");
    expect(await refused(config(), benchmark, "--policy", run(), "--step", "7")).toMatch(
      /got +step 7\n.*one of 0, 1/,
    );
    expect(await refused(config(), benchmark, "--step", "1")).toContain("no --policy");
  });

  test("a run folder in place of its config", async () => {
    expect(await refused(run(), benchmark)).toContain("Did you mean `DIR/run/config.yaml`?");
  });

  test("a checkpoint of another model, and of another vocabulary", async () => {
    const wide = await refused(config(), benchmark, "--policy", run(), "model.tiny.hidden=32");
    expect(wide).toMatch(
      /another model[\s\S]*got +hiddenSize 16, headDim 8[\s\S]*expected +hiddenSize 32, headDim 16/,
    );
    const model = project.model("other", { words: ["some", "other", "words"] });
    expect(await refused(config(), benchmark, "--policy", model)).toMatch(
      /another vocabulary[\s\S]*tokens, id/,
    );
  });

  test("weights that were changed, and weights that were cut", async () => {
    const { forager } = project;
    await forager("train", config(), `run.dir=${project.at("hurt")}`, "--quiet");
    const path = join(project.at("hurt"), "checkpoints", "rl-000001", "model.safetensors");
    const bytes = readFileSync(path);
    bytes[bytes.length - 2]! ^= 1;
    writeFileSync(path, bytes);
    expect(await refused(config(), benchmark, "--policy", project.at("hurt"))).toContain(
      "not those that were saved",
    );
    writeFileSync(path, bytes.subarray(0, bytes.length - 64));
    expect(await refused(config(), benchmark, "--policy", project.at("hurt"))).toContain("model.safetensors");
  }, 60_000);

  test("a file where the folder should be", async () => {
    const result = await project.forager("eval", config(), benchmark, "--out", join(config(), "deep"));
    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(/a file is where a folder should be[\s\S]*train\.yaml/);
  });
});
