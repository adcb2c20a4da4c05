import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rng } from "../core/rng.ts";
import type { FaultName } from "../serve/faults.ts";
import { on, onWith, stepsOf, type ToyRuns, toyRuns } from "./testing/toy-runs.ts";
import type { ServedCall } from "./testing/toy-served.ts";

/** Whole runs against servers that fail: they end as the run in process did, or say why not and can go on. */
let runs: ToyRuns;
beforeAll(async () => {
  runs = await toyRuns();
}, 120_000);
afterAll(() => runs?.close());

const at = (name: string) => runs.project.at(name);
const quick = { retryDelayMs: 1, attempts: 20, retryShare: 5 };

function expectAsLocal(name: string): void {
  expect(runs.episodes(name)).toEqual(runs.episodes("local"));
  expect(runs.weightGap(name, "local")).toBeLessThan(1e-5);
}

/** Of the episodes' requests a quarter. The probes are not spared. */
function quarter(kinds: readonly FaultName[], seed: number) {
  let n = 0;
  const struck: FaultName[] = [];
  const fault = ({ what }: ServedCall) => {
    const draw = rng(seed, "fault", n++);
    if (what !== "generate" || draw() >= 0.25) return undefined;
    const kind = draw.pick(kinds);
    struck.push(kind);
    return kind;
  };
  return { fault, struck };
}

test("a quarter of all requests fails, probes among them: the run is the one in process", async () => {
  const [one, other] = [1, 2].map((seed) =>
    quarter(["status500", "dropBeforeHead", "dropHalfBody", "status503"], seed),
  );
  const servers = [await runs.toys.start(one), await runs.toys.start(other)];
  const { code, events, stderr } = await runs.train("rough", onWith(quick, ...servers));
  expect(code, stderr).toBe(0);
  expectAsLocal("rough");
  for (const step of stepsOf(events)) expect(step).toMatchObject({ infra_frac: 0, episodes: 12 });
  expect(one!.struck.length + other!.struck.length).toBeGreaterThan(20);
  expect(servers.map((server) => server.adapters())).toEqual([[], []]);
}, 60_000);

test("hangs, and replies that are wrong, while episodes are played", async () => {
  const kinds = ["hang", "fewTokenIds", "nullLogprob", "clampedLogprob", "wrongModel", "badJson"] as const;
  const { fault, struck } = quarter(kinds, 3);
  const played = (call: ServedCall) => (/-v\d/.test(call.name) ? fault(call) : undefined);
  const servers = [await runs.toys.start({ fault: played }), await runs.toys.start()];
  const { code, stderr } = await runs.train(
    "wrong",
    onWith({ ...quick, requestTimeoutMs: 1_000 }, ...servers),
  );
  expect(code, stderr).toBe(0);
  expectAsLocal("wrong");
  expect(struck.length).toBeGreaterThan(0);
}, 60_000);

test("a server that restarts in the middle of a step gets its adapters back", async () => {
  let left = 8;
  const fault = ({ name }: ServedCall) => (name.endsWith("-v1") && left-- === 0 ? "restart" : undefined);
  const server = await runs.toys.start({ fault });
  const { code, stderr } = await runs.train("restarted", onWith(quick, server));
  expect(code, stderr).toBe(0);
  expectAsLocal("restarted");
  expect(left).toBeLessThan(0);
  const loads = server.calls.filter((call) => /^load .*-v1$/.test(call));
  expect(loads).toHaveLength(2);
  expect(stderr).toMatch(/gets no requests for now|had lost its adapters; loaded again: .*-v1/);
}, 60_000);

test("a load that fails once is made again; one that fails for good ends the run with its step saved, and it can go on", async () => {
  let broken = true;
  const failures: string[] = [];
  const fault = ({ what, name }: ServedCall) => {
    const once = name.endsWith("-v1");
    if (what !== "load" || !(once || (broken && /-v2(\.|$)/.test(name)))) return undefined;
    failures.push(name);
    return "load500" as const;
  };
  const server = await runs.toys.start({ fault });
  const failed = await runs.train("unloaded", onWith({ ...quick, loadTimeoutMs: 1_500 }, server));
  expect(failed.code).toBe(1);
  expect(failed.stderr).toMatch(/-r1-v2 was not published[\s\S]*max_lora_rank[\s\S]*--resume/);
  expect(failed.stderr).not.toMatch(/\.ts:\d+|at async/);
  expect(failures.length).toBeGreaterThan(2);
  expect(new Set(failures).size).toBe(failures.length); // each attempt has a name of its own
  expect(JSON.parse(readFileSync(at("unloaded/summary.json"), "utf8"))).toMatchObject({
    status: "failed",
    steps: 2,
  });
  expect(server.adapters()).toEqual([]);

  broken = false;
  const { code, stderr } = await runs.project.forager("train", "--resume", at("unloaded"), "--json");
  expect(code, stderr).toBe(0);
  expectAsLocal("unloaded");
}, 60_000);

test("servers that nobody can reach any more end the run by its deadlines, its last step saved", async () => {
  let dead = false;
  const fault = ({ name }: ServedCall) => {
    dead ||= name.endsWith("-v1");
    return dead ? "dropBeforeHead" : undefined;
  };
  const server = await runs.toys.start({ fault });
  const keys = { ...quick, loadTimeoutMs: 3_000 };
  const { code, events, stderr } = await runs.train("dead", onWith(keys, server));
  expect(code, stderr).toBe(1);
  expect(stderr).toMatch(/-r1-v1 was not published/);
  expect(stepsOf(events)).toHaveLength(1);
  expect(readdirSync(at("dead/checkpoints")).sort().at(-1)).toBe("rl-000001");
}, 60_000);

test("a step whose every episode is lost ends the run, rather than the next ones like it", async () => {
  let lost = true;
  const fault = ({ what, name }: ServedCall) =>
    lost && what === "generate" && name.endsWith("-v1") ? "load404" : undefined;
  const server = await runs.toys.start({ fault });
  const more = ["rollout.retries=0", "rollout.refillBatches=0", "rl.filter=none"];
  const { code, events, stderr } = await runs.train("lost", on(server), ...more);
  expect(code, stderr).toBe(1);
  expect(stderr).toMatch(/infrastructure ended all 12 episodes of a step[\s\S]*404[\s\S]*--resume/);
  expect(stepsOf(events).map(({ episodes, infra_frac }) => [episodes, infra_frac])).toEqual([
    [12, 0],
    [12, 1],
  ]);
  lost = false;
  const resumed = await runs.project.forager("train", "--resume", at("lost"), "--json");
  expect(resumed.events.at(-1), resumed.stderr).toMatchObject({ status: "done", steps: 3 });
}, 60_000);

test("two runs of one name on one server with one folder for adapters leave each other's alone", async () => {
  const server = await runs.toys.start();
  const shared = at("shared-adapters");
  mkdirSync(shared);
  const both = await Promise.all(
    ["one/run", "two/run"].map((name) => runs.train(name, onWith({ adapterDir: shared }, server))),
  );
  for (const { code, stderr } of both) expect(code, stderr).toBe(0);
  expectAsLocal("one/run");
  expectAsLocal("two/run");
  const names = readdirSync(shared).map((folder) => runs.nameOf("", `${shared}/${folder}`));
  expect(new Set(names).size).toBe(2);
  for (const run of names)
    expect(server.calls.filter((call) => call.startsWith(`load ${run}-r1-v`)).length).toBe(4);
  expect(server.adapters()).toEqual([]);
  expect((await runs.train("three", on(server))).code).toBe(0);
}, 60_000);
