import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CheckpointError } from "../core/errors.ts";
import type { Params } from "../engine/array.ts";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import { runTeam, startOf } from "./adapter-toys.ts";
import { createLearner } from "./learner.ts";
import type { WeightedRow } from "./micro-batch.ts";
import { adapterHashes, paramsOf, viewOf, withAdapters } from "./policy/adapters.ts";
import { weightsSha256 } from "./policy/weights-hash.ts";
import { loadCheckpoint, readCheckpointState, saveCheckpoint } from "./run-checkpoint.ts";

let engine: Engine;
let folder: string;
beforeAll(async () => {
  engine = await openEngine({});
  folder = mkdtempSync(join(tmpdir(), "forager-adapters-"));
});
afterAll(async () => {
  await engine.dispose();
  rmSync(folder, { recursive: true, force: true });
});

const bits = (params: Params) =>
  Object.entries(params).map(([name, { data }]) => [name, Buffer.from(data.buffer).toString("base64")]);
const loss = {
  ...({ surrogate: "reinforce", kl: "none", klCoefficient: 0 } as const),
  ...{ clipLow: 0, clipHigh: 0, entropyCoefficient: 0 },
};
const optimizer = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.1, maxGradNorm: 1 };
const row = (adapter: string | undefined, tokens: number[]): WeightedRow => ({
  tokens,
  mask: tokens.map((_, t) => Math.min(t, 1)),
  weights: tokens.map((_, t) => Math.min(t, 1) / 4),
  oldLogprobs: tokens.map(() => 0),
  advantages: tokens.map((_, t) => Math.min(t, 1)),
  temperature: 1,
  ...(adapter === undefined ? {} : { adapter }),
});
const settings = { temperature: 1, learningRate: 1e-2 };

test("adapters begin alike, are seen one at a time, and hash apart; one name is no adapter", () => {
  const policy = startOf("lora");
  const [first, second] = ["first", "second"].map((name) => viewOf(policy, name));
  expect(first!.adapters).toBeUndefined();
  expect(first).toEqual(second);
  expect(first).toEqual(startOf("lora", ["one"]));
  const { first: a, second: b } = adapterHashes(policy);
  expect(a).toMatch(/^[0-9a-f]{64}$/);
  expect(a).toBe(b);
  expect(() => viewOf(policy, "third")).toThrow(/first, second.*third/s);
  expect(() => withAdapters(policy, ["x", "y"])).toThrow(/several adapters already/);
});

test.each(["full", "lora"] as const)(
  "%s: each adapter learns from its rows as it would alone, and one without rows is the same bits",
  async (kind) => {
    const policy = startOf(kind);
    const learner = createLearner({ engine, policy, loss, optimizer, slots: 128 });
    const alone = createLearner({ engine, policy: startOf(kind, []), loss, optimizer, slots: 128 });
    const rows = [row("second", [2, 3, 4]), row("first", [5, 6, 7, 8]), row("second", [9, 3])];
    const report = await learner.update(rows, settings);
    const own = await alone.update([row(undefined, [2, 3, 4]), row(undefined, [9, 3])], settings);
    expect(bits(paramsOf(learner.policy.trainable, "second"))).toEqual(bits(alone.policy.trainable));
    expect(report.adapters!.second).toMatchObject({ policyLoss: own.policyLoss, gradNorm: own.gradNorm });
    expect([report.logprobs[0], report.logprobs[2]]).toEqual(own.logprobs);
    expect(report.gradNorm).toBeCloseTo(
      Math.hypot(...Object.values(report.adapters!).map(({ gradNorm }) => gradNorm)),
      12,
    );
    expect(learner.policy.version).toBe(1);

    // With weight decay and momentum, an update of zero gradient would move it.
    const [before, moments] = [learner.policy, learner.optimizer];
    await learner.update([row("second", [2, 3])], settings);
    for (const [now, then] of [
      [learner.policy.trainable, before.trainable],
      [learner.optimizer.mu, moments.mu],
      [learner.optimizer.nu, moments.nu],
    ] as const) {
      expect(bits(paramsOf(now, "first"))).toEqual(bits(paramsOf(then, "first")));
      expect(bits(paramsOf(now, "second"))).not.toEqual(bits(paramsOf(then, "second")));
    }
    expect(learner.optimizer.steps).toEqual({ first: 1, second: 2 });
    expect(learner.policy.version).toBe(2);
  },
);

test("what is scored under one adapter is what that adapter says; a row of none is told", async () => {
  const learner = createLearner({ engine, policy: startOf("full"), loss, optimizer, slots: 128 });
  await learner.update([row("first", [2, 3, 4])], settings);
  const both = await learner.logprobs([row("first", [2, 3, 4]), row("second", [2, 3, 4])], 1);
  expect(both[0]).not.toEqual(both[1]);
  const view = paramsOf(learner.policy.trainable, "first");
  expect((await learner.logprobs([row(undefined, [2, 3, 4])], 1, view))[0]).toEqual(both[0]);
  await expect(learner.update([row(undefined, [2, 3])], settings)).rejects.toThrow(
    /expected first, second.*got no adapter/s,
  );
  await expect(learner.update([row("third", [2, 3])], settings)).rejects.toThrow(/third/);
});

test("an adapter that diverges leaves all of them as they were", async () => {
  const learner = createLearner({ engine, policy: startOf("full"), loss, optimizer, slots: 128 });
  const before = learner.policy;
  const spoilt = { ...row("second", [2, 3]), advantages: [0, Number.NaN] };
  await expect(learner.update([row("first", [2, 3]), spoilt], settings)).rejects.toThrow(/diverged/);
  expect(learner.policy).toBe(before);
  expect(learner.optimizer.step).toBe(0);
});

const stages = [
  { learn: ["second"], until: { step: 2 } },
  { learn: ["first", "second"], until: { metric: "episodes", above: 1, for: 2 } },
  { learn: ["first"] },
];

test("two seats learn by two adapters in stages; frozen ones are the same bits; what is stopped goes on to the same end", async () => {
  const config = { team: { stages } };
  const start = startOf("full");
  const whole = await runTeam(engine, { policy: start, to: 6, config });
  const at = (reports: typeof whole.reports) => reports.map(({ metrics }) => metrics.stage);
  expect(at(whole.reports)).toEqual([0, 0, 1, 1, 2, 2]);
  expect(whole.reports.map(({ stage }) => stage)).toEqual([undefined, 1, undefined, 2, undefined, undefined]);
  const learnt = whole.reports.map(({ metrics }) =>
    ["first", "second"].filter((name) => `adapter/${name}/grad_norm` in metrics),
  );
  expect(learnt).toEqual([
    ["second"],
    ["second"],
    ["first", "second"],
    ["first", "second"],
    ["first"],
    ["first"],
  ]);

  const files = { tokenizerFiles: [] };
  let state = await runTeam(engine, { policy: start, to: 2, config });
  const hashes = [adapterHashes(start), adapterHashes(state.state.policy)];
  expect(hashes[1]!.first).toBe(hashes[0]!.first);
  expect(hashes[1]!.second).not.toBe(hashes[0]!.second);
  for (const to of [3, 5, 6]) {
    const path = join(folder, `at-${to}`);
    await saveCheckpoint(path, state.state, files);
    const loaded = loadCheckpoint(path, start);
    expect(loaded).toEqual(state.state);
    const record = readCheckpointState(path);
    expect(record.adapters!.second!.sha256).toBe(adapterHashes(loaded.policy).second);
    state = await runTeam(engine, { from: loaded, to, config });
    hashes.push(adapterHashes(state.state.policy));
  }
  expect(hashes.at(-1)!.second).toBe(hashes.at(-2)!.second);
  expect(weightsSha256(state.state.policy)).toBe(weightsSha256(whole.state.policy));
  expect(state.state.adam.steps).toEqual({ first: 4, second: 4 });
});

test("two seats by two adapters learn the task, each from its own calls", async () => {
  const { reports } = await runTeam(engine, { to: 40, config: { steps: 40 } });
  expect(reports[0]!.metrics.em).toBeLessThan(0.4);
  expect(reports.at(-1)!.metrics.em).toBeGreaterThan(0.7);
  expect(reports[0]!.metrics).toMatchObject({ "adapter/first/tokens": 64, "adapter/second/tokens": 128 });
  expect(reports[0]!.metrics.approx_kl).toBeLessThan(1e-9);
});

test("one policy for both seats is as it was: no metrics of adapters", async () => {
  const { reports } = await runTeam(engine, { policy: startOf("full", []), to: 1 });
  expect(Object.keys(reports[0]!.metrics).filter((name) => name.startsWith("adapter/"))).toEqual([]);
  expect(reports[0]!.metrics).not.toHaveProperty("stage");
});

test.each(["full", "lora"] as const)(
  "a checkpoint of %s is not taken for one of other adapters",
  async (kind) => {
    const path = join(folder, `other-${kind}`);
    const policy = startOf(kind);
    const adam = { step: 0, mu: policy.trainable, nu: policy.trainable, steps: {} };
    await saveCheckpoint(path, { phase: "rl", step: 0, policy, adam }, { base: "base", tokenizerFiles: [] });
    expect(loadCheckpoint(path, policy).policy).toEqual(policy);
    for (const other of [startOf(kind, []), startOf(kind, ["first", "third"])])
      expect(() => loadCheckpoint(path, other)).toThrow(CheckpointError);
    expect(() => loadCheckpoint(path, startOf(kind, ["first", "third"]))).toThrow(
      /expected first, third.*got first, second/s,
    );
  },
);
