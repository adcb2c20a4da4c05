import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { adapterFolder } from "../rl/policy/open-adapters.ts";
import { readCheckpointState } from "../rl/run-checkpoint.ts";
import { openRunDb } from "../track/run-db.ts";
import { openModel } from "./open-model.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";
import { on, stepsOf } from "./testing/toy-runs.ts";
import { type Serving, serving, type ToyServed } from "./testing/toy-served.ts";

/** Five roles by five adapters: a base that has learnt to write messages, then RL in process and on a server. */
const names = ["planner", "analyst", "drafter", "verifier", "summarizer"];
const roles = `{ ${names.map((name) => `${name}: { adapter: ${name} }`).join(", ")} }`;
let project: Project;
let base: string;
let toys: Serving;
let server: ToyServed;

const world = (...more: string[]) => [
  ...["train", join(packageRoot(), "configs/tiny.yaml"), "env.name=team", "env.turnTokens=48"],
  ...["sft.source={ kind: experts, habits: careful }", "eval.benchmarks=[]", "--json", ...more],
];
/** One pass: whoever the verifier convinces, the summarizer has its turn. */
const run = (name: string, ...more: string[]) =>
  world(
    ...[
      `run.dir=${at(name)}`,
      "run.name=team",
      `env.team={ feedback: false, correction: '', roles: ${roles} }`,
    ],
    ...["model.tiny=null", `model={ path: ${base}, training: lora, lora: { rank: 2, alpha: 4 } }`],
    ...[
      "sft.steps=0",
      "rl.steps=3",
      "rl.schedule.learningRate=0.01",
      "rollout.tasksPerStep=2",
      // Whoever has a call learns something then, whatever the call was worth.
      "rl.entropyCoefficient=0.01",
      "track.keepCheckpoints=4",
    ],
    "rl.team={ equalise: sample, stages: [{ learn: [drafter, verifier], until: { step: 1 } }, { learn: [planner, drafter] }] }",
    ...more,
  );
const at = (name: string) => project.at(name);
const shaOf = (name: string, step: number) => {
  const { adapters = {} } = readCheckpointState(at(`${name}/checkpoints/rl-00000${step}`));
  return Object.fromEntries(Object.entries(adapters).map(([adapter, { sha256 }]) => [adapter, sha256]));
};
const tokensOf = (name: string) => {
  const db = openRunDb(at(name));
  try {
    return [1, 2, 3].flatMap((step) =>
      db
        .trajectories(step)
        .map(({ sequences }) => sequences.map(({ segments }) => segments.map((s) => s.tokens))),
    );
  } finally {
    db.close();
  }
};
const success = async (words: string[]) => {
  const { code, events, stderr } = await project.forager(...words);
  expect(code, stderr).toBe(0);
  return events;
};

beforeAll(async () => {
  project = toyProject();
  await success(
    world(
      ...[
        `run.dir=${at("school")}`,
        "env.team={ maxRounds: 2, correction: '' }",
        "rl.steps=0",
        "sft.steps=150",
      ],
      "model.tiny={ layers: 1, hidden: 64, heads: 2, intermediate: 128, contextTokens: 384 }",
      ...["sft.slots=2048", "sft.schedule.learningRate=0.01"],
    ),
  );
  base = at("school/checkpoints/rl-000000");
  toys = await serving(base);
  server = await toys.start();
  await success(run("local"));
}, 300_000);
afterAll(async () => {
  await toys?.close();
  project.remove();
});

test("who is frozen stays the same bits, stage by stage, and that is on record", () => {
  const shas = [0, 1, 2, 3].map((step) => shaOf("local", step));
  const changed = [1, 2, 3].map((step) =>
    names.filter((name) => shas[step]![name] !== shas[step - 1]![name]),
  );
  expect(changed).toEqual([
    ["drafter", "verifier"],
    ["planner", "drafter"],
    ["planner", "drafter"],
  ]);
  const db = openRunDb(at("local"));
  try {
    expect(db.events("stage").map(({ step, data }) => ({ step, ...(data as object) }))).toEqual([
      { step: 0, index: 0, learn: ["drafter", "verifier"], sha256: shas[0] },
      { step: 1, index: 1, learn: ["planner", "drafter"], sha256: shas[1] },
    ]);
    const metrics = db.metrics().at(-1)!.metrics;
    expect(Object.keys(metrics).filter((name) => name.endsWith("/grad_norm"))).toEqual([
      ...["adapter/planner/grad_norm", "adapter/drafter/grad_norm"],
    ]);
  } finally {
    db.close();
  }
});

test("a run that lost its last steps does them again, to the same bits", async () => {
  const whole = [shaOf("local", 3), tokensOf("local")];
  rmSync(at("local/summary.json"));
  for (const step of [2, 3]) rmSync(at(`local/checkpoints/rl-00000${step}`), { recursive: true });
  await success(["train", "--resume", at("local"), "--json"]);
  expect([shaOf("local", 3), tokensOf("local")]).toEqual(whole);
}, 60_000);

test("on a server each role asks for its own adapter; the episodes are those played in process", async () => {
  const events = await success(run("remote", on(server)));
  expect(tokensOf("remote")).toEqual(tokensOf("local"));
  for (const step of stepsOf(events)) {
    expect(step["mismatch/mean_abs"]).toBeLessThan(1e-5);
    expect(step["canary/mean_abs"]).toBeLessThan(1e-5);
    expect(step).toMatchObject({ infra_frac: 0, stale_groups: 0 });
  }
  const calls = (what: string) => [
    ...new Set(
      server.calls.flatMap((call) => {
        const found = new RegExp(`^${what} team-[0-9a-f]{8}-r1-(v.*)$`).exec(call);
        return found ? [found[1]!] : [];
      }),
    ),
  ];
  // Loaded when it has changed, and no other time.
  expect(calls("load")).toEqual([
    ...names.map((name) => `v0-${name}`),
    ...["v1-drafter", "v1-verifier", "v2-planner", "v2-drafter", "v3-planner", "v3-drafter"],
  ]);
  for (const name of names) expect(calls("generate")).toContain(`v0-${name}`);
  expect(calls("generate")).toContain("v2-drafter");
  expect(calls("unload").sort()).toEqual(calls("load").sort());
  expect(server.adapters()).toEqual([]);
  expect(readdirSync(at("remote/adapters")).length).toBeGreaterThan(0);
}, 120_000);

test("such a checkpoint is evaluated whole, served as a base with adapters, and merged one at a time", async () => {
  const benchmark = "eval.benchmarks=[{ name: w, source: { kind: world, clusters: 6, split: test, n: 4 } }]";
  const config = at("local/config.yaml");
  const evaluated = ["eval", config, "--policy", at("local"), `--out=${at("evals")}`, "--json", benchmark];
  await success(evaluated);
  const model = openModel(at("local"));
  expect(model.adapters.map(({ name }) => name)).toEqual(names);
  expect(model.policy.lora).toBeUndefined();
  const none = await project.forager("merge", at("local"), "--out", at("merged"));
  expect(none.code).not.toBe(0);
  expect(none.stderr).toMatch(/several adapters.*one of planner, analyst/s);
  const wrong = await project.forager("merge", at("local"), "--adapter", "critic", "--out", at("merged"));
  expect(wrong.stderr).toMatch(/no such adapter/);
  await success(["merge", at("local"), "--adapter", "verifier", "--out", at("merged"), "--json"]);
  expect(openModel(at("merged")).policy.lora).toBeUndefined();
  const alone = adapterFolder(at("local/checkpoints/rl-000003"), "verifier");
  await success(["eval", config, "--policy", alone, `--out=${at("alone")}`, "--json", benchmark]);
}, 60_000);

test("forager serve offers each adapter under its name, beside the base", async () => {
  const tsx = join(packageRoot(), "node_modules/tsx/dist/cli.mjs");
  const words = [join(packageRoot(), "scripts/main.ts"), "serve", at("local"), "--port", "0", "--json"];
  const child = spawn(process.execPath, [tsx, ...words], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    const { url } = JSON.parse(line) as { url: string };
    const models = (await (await fetch(`${url}/v1/models`)).json()) as {
      data: { id: string; parent: string | null }[];
    };
    expect(models.data.map(({ id, parent }) => [id, parent])).toEqual([
      ["local-rl-3", null],
      ...names.map((name) => [name, "local-rl-3"]),
    ]);
  } finally {
    child.kill("SIGKILL");
  }
}, 60_000);

test.each([
  ["rl.team={ stages: [{ learn: [verifer] }] }", /verifer.*did you mean `verifier`/s],
  ["rl.team={ shaping: { nobody: 2 } }", /nobody.*nobody plays/s],
  ["env.team={ roles: { analyst: { on: false, adapter: own } } }", /never be used/],
])("%s is told before anything is opened", async (override, message) => {
  const { code, stderr } = await project.forager(...run("wrong", override));
  expect(code).not.toBe(0);
  expect(stderr).toMatch(message);
});
