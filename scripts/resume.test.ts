import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { runDifference, runFingerprint } from "./testing/run-fingerprint.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

const root = packageRoot();
const parent = mkdtempSync(join(tmpdir(), "forager-resume-"));
const at = (name: string) => join(parent, name);
const begin = (name: string) => [
  ...["train", join(root, "configs/tiny.yaml"), `run.dir=${at(name)}`, "sft.steps=4", "rl.steps=3"],
  "eval.benchmarks=[{name: test, source: {kind: world, clusters: 6, split: test, n: 6}}]",
];
const resume = (name: string) => ["train", "--resume", at(name)];

/** Runs a command line in this process. */
let project: Project;
const here = (words: readonly string[]) => project.forager(...words, "--json", "--quiet");

beforeAll(async () => {
  project = toyProject();
  expect((await here(begin("whole"))).code).toBe(0);
}, 120_000);
afterAll(() => {
  project.remove();
  rmSync(parent, { recursive: true, force: true });
});

const expectWhole = (name: string) =>
  expect(runDifference(runFingerprint(at("whole")), runFingerprint(at(name)))).toEqual([]);
const summary = (name: string) =>
  JSON.parse(readFileSync(at(`${name}/summary.json`), "utf8")) as Record<string, unknown>;

/** Runs a command line as a process of its own and does something to it the moment that `when` first holds. */
async function elsewhere(
  words: readonly string[],
  when: (event: { event?: string; phase?: string; step?: number }) => boolean,
  then: (child: ChildProcess) => unknown,
): Promise<{ code: number | null; signal: string | null; said: string }> {
  const main = join(root, "scripts/main.ts");
  const child = spawn(process.execPath, ["--import", "tsx", main, ...words, "--json", "--quiet"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr!.on("data", (chunk: Buffer) => {
    said += String(chunk);
  });
  const closed = once(child, "close") as Promise<[number | null, string | null]>;
  let done = false;
  const look = (line = "{}") => {
    if (done || !when(JSON.parse(line) as object)) return;
    done = true;
    then(child);
  };
  createInterface({ input: child.stdout! }).on("line", look);
  const timer = setInterval(look, 1);
  const [code, signal] = await closed;
  clearInterval(timer);
  return { code, signal, said };
}
const kill = (child: ChildProcess) => child.kill("SIGKILL");

test("killed in the warm-up, at a checkpoint and in an evaluation, a run ends as if never stopped", async () => {
  const killed = { code: null, signal: "SIGKILL" };
  const inWarmUp = await elsewhere(begin("killed"), (e) => e.phase === "sft" && e.step === 2, kill);
  expect(inWarmUp).toMatchObject(killed);
  expect(existsSync(at("killed/summary.json"))).toBe(false);

  const names = (folder: string) => (existsSync(at(folder)) ? readdirSync(at(folder)) : []);
  const writing = () => names("killed/checkpoints").some((name) => name.includes("rl-000001"));
  expect(await elsewhere(resume("killed"), writing, kill)).toMatchObject(killed);

  const evaluating = () => existsSync(at("killed/evals/test-2-greedy/records.jsonl"));
  expect(await elsewhere(resume("killed"), evaluating, kill)).toMatchObject(killed);

  // What a kill between the commit and metrics.jsonl, in the middle of a line, or in a write leaves behind.
  const metrics = readFileSync(at("killed/metrics.jsonl"), "utf8");
  writeFileSync(at("killed/metrics.jsonl"), metrics.slice(0, -40));
  appendFileSync(at("killed/evals/test-2-greedy/records.jsonl"), '{"id": "torn');
  writeFileSync(at("killed/checkpoints/.1-rl-000003.tmp"), "half");
  writeFileSync(at("killed/config.yaml.1.tmp"), "half");

  const { code, events } = await here(resume("killed"));
  expect(code).toBe(0);
  expect(events.at(-1)).toMatchObject({ event: "result", status: "done", steps: 3 });
  expectWhole("killed");
}, 240_000);

test("before there is a run, the same command starts it; a first checkpoint is not needed to resume", async () => {
  await elsewhere(begin("early"), () => existsSync(at("early/run.lock")), kill);
  const started = existsSync(at("early/config.yaml"));
  if (!started) {
    const again = await elsewhere(begin("early"), (e) => e.event === "run", kill);
    expect(again.signal, again.said).toBe("SIGKILL");
  }
  rmSync(at("early/checkpoints"), { recursive: true });
  expect((await here(resume("early"))).code).toBe(0);
  expectWhole("early");
}, 240_000);

test("SIGINT and SIGTERM finish the step, save and exit 130; a second SIGINT ends at once; nobody else gets in", async () => {
  let other: Awaited<ReturnType<typeof here>> | undefined;
  const first = await elsewhere(
    begin("stopped"),
    (e) => e.phase === "sft" && e.step === 1,
    async (child) => {
      other = await here(resume("stopped"));
      child.kill("SIGINT");
    },
  );
  if (other?.code === 2)
    expect(other.events.at(-1)).toMatchObject({ what: "another process is at work in this run folder" });
  expect(first).toMatchObject({ code: 130, signal: null });
  expect(summary("stopped")).toMatchObject({ status: "interrupted", steps: 0, evals: [] });

  const second = await elsewhere(
    resume("stopped"),
    (e) => e.phase === "rl" && e.step === 1,
    (child) => child.kill("SIGTERM"),
  );
  expect(second).toMatchObject({ code: 130, signal: null });
  expect(summary("stopped")).toMatchObject({ status: "interrupted" });
  expect(summary("stopped").evals).toMatchObject([
    { step: 0, mode: "greedy" },
    { step: 0, mode: "sampled" },
  ]);

  const third = await elsewhere(
    resume("stopped"),
    (e) => e.event === "run",
    async (child) => {
      child.kill("SIGINT");
      await sleep(1);
      child.kill("SIGINT");
    },
  );
  expect(third.code).toBe(130);
  expect((await here(resume("stopped"))).code).toBe(0);
  expectWhole("stopped");
}, 240_000);

test("a finished run has nothing to resume, and is not touched", async () => {
  const before = [runFingerprint(at("whole")), readFileSync(at("whole/meta.json"), "utf8"), summary("whole")];
  const { code, stdout } = await project.forager(...resume("whole"));
  expect(code).toBe(0);
  expect(stdout).toMatch(/^This run is finished: 3 steps, weightsSha256 [0-9a-f]{64}\. Nothing to do\.\n$/);
  expect([
    runFingerprint(at("whole")),
    readFileSync(at("whole/meta.json"), "utf8"),
    summary("whole"),
  ]).toEqual(before);
});

test("the same config gives the same run twice", async () => {
  expect((await here(begin("twice"))).code).toBe(0);
  expectWhole("twice");
}, 120_000);

test("a LoRA run with KL to its beginning and two updates a step goes on from any checkpoint", async () => {
  // Something to learn for a policy that knows nothing: how long its text is.
  const unlike = ({ sequences }: Trajectory) => (JSON.stringify(sequences).length % 7) / 7;
  const own = toyProject({ rewards: { unlike } });
  try {
    const model = `model={path: ${own.model("base")}, training: lora, lora: {rank: 2, alpha: 4}}`;
    const learning = "rl={preset: o-researcher, steps: 3, slots: 256, updatesPerStep: 2, filter: none}";
    const save = "track={saveEvery: 1, keepCheckpoints: 9}";
    const words = [model, learning, save, "rl.schedule.learningRate=0.01", "reward.weights={unlike: 1}"];
    expect((await own.forager("train", own.at("train.yaml"), ...words, "--quiet")).code).toBe(0);
    const whole = runFingerprint(own.at("run"));
    expect(
      new Set(whole.flatMap((line) => /adapter_model\.safetensors (.*)/.exec(line)?.[1] ?? [])).size,
    ).toBe(4);
    for (const last of [2, 1, 0]) {
      rmSync(own.at("run/summary.json"));
      for (let step = last + 1; step <= 3; step++)
        rmSync(own.at(`run/checkpoints/rl-00000${step}`), { recursive: true });
      const { code, stderr } = await own.forager("train", "--resume", own.at("run"), "--quiet");
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      expect(runDifference(whole, runFingerprint(own.at("run")))).toEqual([]);
    }
  } finally {
    own.remove();
  }
}, 240_000);

test("a run that fails says what it had done and why, and goes on when the cause is gone", async () => {
  let broken = true;
  let calls = 0;
  // One step is four episodes: the third step fails.
  const reward = ({ sequences }: Trajectory) => {
    // What was not sampled is a check before the run.
    const sampled = sequences.some(({ segments }) => segments.some((s) => s.logprobs?.some((l) => l < 0)));
    if (sampled) calls++;
    return broken && calls > 8 ? Number.NaN : 0;
  };
  const own = toyProject({ rewards: { shaky: reward } });
  try {
    const words = ["reward.weights={exactMatch: 1, shaky: 1}", "rl.steps=4", "track.saveEvery=1", "--quiet"];
    const failed = await own.forager("train", own.at("train.yaml"), ...words);
    expect(failed.code).toBe(1);
    const read = () =>
      JSON.parse(readFileSync(own.at("run/summary.json"), "utf8")) as Record<string, unknown>;
    expect(read()).toMatchObject({
      ...{ status: "failed", steps: 2, evals: [], weightsSha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      error: expect.stringContaining("is not a finite number"),
    });
    broken = false;
    expect((await own.forager("train", "--resume", own.at("run"), "--quiet")).code).toBe(0);
    expect(read()).toMatchObject({ status: "done", steps: 4 });
    expect(read()).not.toHaveProperty("error");
  } finally {
    own.remove();
  }
}, 120_000);
