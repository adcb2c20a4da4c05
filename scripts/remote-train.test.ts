import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { on, stepsOf as steps, type ToyRuns, toyRuns } from "./testing/toy-runs.ts";
import type { ServedCall, ToyServed } from "./testing/toy-served.ts";

/** The whole path: `forager train` against servers of our own API, in this process. */
let runs: ToyRuns;
let servers: ToyServed[];
/** What happens at a server before it answers. */
let before: (call: ServedCall) => unknown = () => {};

beforeAll(async () => {
  runs = await toyRuns();
  const watched = { before: (call: ServedCall) => before(call) };
  servers = [await runs.toys.start(watched), await runs.toys.start(watched)];
}, 120_000);
afterAll(() => runs?.close());

const at = (name: string) => runs.project.at(name);
const adapterCalls = (served: ToyServed, run: string) =>
  served.calls.filter((call) => /^(load|unload) /.test(call) && call.includes(run));
const unpublished = (run: string) =>
  servers.map((each) => each.adapters().filter((name) => name.startsWith(run)));

test("on policy, a remote run is the in-process one: the same episodes, weights to 1e-5, every version used and gone", async () => {
  const [server] = servers as [ToyServed];
  const { code, events, stderr } = await runs.train("remote", on(server));
  expect(code, stderr).toBe(0);
  expect(events.at(-1)).toMatchObject({ event: "result", status: "done", steps: 3 });
  expect(runs.episodes("remote")).toEqual(runs.episodes("local"));
  expect(new Set(runs.episodes("remote").map(({ tokens }) => tokens[0]!.length)).size).toBeGreaterThan(2);
  expect(runs.weightGap("remote", "local")).toBeLessThan(1e-5);

  const run = runs.nameOf("remote");
  const [probe, v0, v1, v2, v3] = ["probe", "v0", "v1", "v2", "v3"].map((each) => `${run}-r1-${each}`);
  expect(adapterCalls(server, run)).toEqual([
    ...[`load ${probe}`, `unload ${probe}`, `load ${v0}`, `load ${v1}`, `unload ${v0}`],
    ...[`load ${v2}`, `unload ${v1}`, `load ${v3}`, `unload ${v2}`, `unload ${v3}`],
  ]);
  for (const version of [v0, v1, v2]) expect(server.calls).toContain(`generate ${version}`);
  expect(server.adapters()).toEqual([]);
  expect(readdirSync(at("remote/adapters")).sort()).toEqual(["names.json", v3]);

  for (const step of steps(events)) {
    expect(step["mismatch/mean_abs"]).toBeLessThan(1e-5);
    expect(step["mismatch/mean_abs"]).toBeGreaterThan(0);
    expect(step).toMatchObject({ staleness_max: 0, stale_groups: 0, infra_frac: 0, episodes: 12 });
    expect(step).toMatchObject({ "canary/nearer_previous": 0 });
    expect(step["canary/mean_abs"]).toBeLessThan(1e-5);
    expect(step["canary/previous_mean_abs"]).toBeGreaterThan(1e-3);
  }
  expect(stderr).toMatch(/from the trainer with a synthetic adapter/);
}, 60_000);

test("two runs at once on two servers: the one that runs ahead stays within its staleness, neither touches the other's", async () => {
  const [ahead, beside] = await Promise.all([
    runs.train("ahead", on(...servers), "rl.maxStaleness=2", "rl.steps=5"),
    runs.train("beside", on(...[...servers].reverse())),
  ]);
  expect(ahead.code, ahead.stderr).toBe(0);
  expect(beside.code, beside.stderr).toBe(0);

  const ages = steps(ahead.events).map(({ staleness_max: age }) => age as number);
  expect(ages).toHaveLength(5);
  expect(ages[0]).toBe(0);
  expect(Math.max(...ages)).toBe(2);
  for (const step of steps(ahead.events)) {
    expect(step["mismatch/mean_abs"]).toBeLessThan(1e-5);
    expect(step).toMatchObject({ infra_frac: 0, stale_groups: 0, "canary/nearer_previous": 0 });
  }

  expect(runs.episodes("beside")).toEqual(runs.episodes("local"));
  expect(runs.weightGap("beside", "local")).toBeLessThan(1e-5);

  for (const name of ["ahead", "beside"]) {
    const run = runs.nameOf(name);
    expect(unpublished(run)).toEqual([[], []]);
    for (const server of servers) {
      const calls = adapterCalls(server, run);
      expect(new Set(calls).size).toBe(calls.length); // no name twice, for loading and for unloading
      const [loads, unloads] = ["load ", "unload "].map((what) =>
        calls.flatMap((call) => (call.startsWith(what) ? [call.slice(what.length)] : [])).sort(),
      );
      expect(unloads).toEqual(loads);
      for (const each of loads!) {
        const gone = server.calls.indexOf(`unload ${each}`);
        expect(server.calls.lastIndexOf(`generate ${each}`)).toBeLessThan(gone);
      }
      expect(server.calls.some((call) => call.startsWith(`generate ${run}`))).toBe(true);
    }
  }
}, 60_000);

/** What this process would do at Ctrl-C. */
function pressCtrlC(): void {
  const [listener] = process.listeners("SIGINT").slice(-1) as [() => void];
  listener();
}

/** The same command line as a process of its own. */
function spawned(words: readonly string[]): { child: ChildProcess; closed: Promise<unknown[]> } {
  const main = join(packageRoot(), "scripts/main.ts");
  const child = spawn(process.execPath, ["--import", "tsx", main, ...words], { stdio: "ignore" });
  return { child, closed: once(child, "close") };
}

test("killed while it publishes, and stopped by Ctrl-C, a run goes on under new names to the same end", async () => {
  const [server] = servers as [ToyServed];
  const { child, closed } = spawned(runs.begin("stopped", on(server)));
  before = ({ what, name }) => {
    if (what === "load" && name.endsWith("-r1-v1")) child.kill("SIGKILL");
  };
  expect(await closed).toEqual([null, "SIGKILL"]);
  const run = runs.nameOf("stopped");
  expect(existsSync(at(`stopped/adapters/${run}-r1-v1`))).toBe(true);
  expect(unpublished(run)[0]).toContain(`${run}-r1-v0`);

  let pressed = false;
  before = ({ what, name }) => {
    if (pressed || what !== "generate" || !name.endsWith("-r2-v1")) return;
    pressed = true;
    pressCtrlC();
  };
  const resume = ["train", "--resume", at("stopped"), "--json"];
  const interrupted = await runs.project.forager(...resume);
  before = () => {};
  expect(interrupted.code, interrupted.stderr).toBe(130);
  expect(unpublished(run)).toEqual([[], []]);
  expect(JSON.parse(readFileSync(at("stopped/summary.json"), "utf8"))).toMatchObject({
    status: "interrupted",
    steps: 2,
  });

  const { code, events, stderr } = await runs.project.forager(...resume);
  expect(code, stderr).toBe(0);
  expect(events.at(-1)).toMatchObject({ status: "done", steps: 3 });
  expect(server.calls).toContain(`generate ${run}-r3-v2`);
  expect(unpublished(run)).toEqual([[], []]);
  expect(readdirSync(at("stopped/adapters")).sort()).toEqual(["names.json", `${run}-r3-v3`]);
  expect(runs.episodes("stopped")).toEqual(runs.episodes("local"));
  expect(runs.weightGap("stopped", "local")).toBeLessThan(1e-5);
}, 60_000);
