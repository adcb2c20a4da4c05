import { afterAll, beforeAll, expect, test } from "vitest";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import type { Scorer } from "../reward/scored.ts";
import { rollGroups } from "../rollout/groups.ts";
import type { BatchSampler } from "../rollout/sampler.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { algorithmOf, rlConfig } from "./config.ts";
import { createLearner } from "./learner.ts";
import { parrot, renderer, shape, source, tokenizer, words } from "./parrot-toys.ts";
import { createSampler } from "./policy/generate.ts";
import { initPolicy } from "./policy/init.ts";
import type { Policy } from "./policy/policy.ts";
import { weightsSha256 } from "./policy/weights-hash.ts";
import type { Lease } from "./remote.ts";
import { train } from "./step.ts";

/** The parrot, sampled by "servers" that hold every published version: right is the word of the question. */
const score: Scorer = (t) => {
  const right = Number(t.sequences[0]!.segments.at(-1)!.text === t.task.question);
  return { ...t, parts: { exactMatch: right }, reward: right };
};
/** A turn is worth the more the nearer its word is to the end of the alphabet. */
const credited: Scorer = (t) => ({
  ...score(t),
  turnCredits: [[words.indexOf(t.sequences[0]!.segments.at(-1)!.text) / words.length]],
});

let engine: Engine;
/** Compiles each of the sampler's functions once for all samplers, which are of one shape. */
let shared: Engine;
beforeAll(async () => {
  engine = await openEngine({});
  const kept = new Map<string, unknown>();
  shared = {
    ...engine,
    jit: (name, fn) => (kept.get(name) ?? kept.set(name, engine.jit(name, fn)).get(name)) as never,
  };
});
afterAll(() => engine.dispose());

async function run(steps: number, over: object, o: { remote: boolean; off?: number }) {
  const config = rlConfig.parse({
    steps,
    filter: "none",
    schedule: { learningRate: 1e-2 },
    slots: 512,
    ...over,
  });
  const algorithm = algorithmOf(config);
  const start = initPolicy(shape, 3);
  const learner = createLearner({
    ...{ engine, policy: start, optimizer: config.optimizer, slots: config.slots },
    loss: { ...algorithm, entropyCoefficient: 0 },
  });
  const local = createSampler({ engine: shared, policy: start, tokenizer, maxRows: 64 });
  let newest = { version: 0, order: 0, trainable: start.trainable };
  const lease = (): Lease => ({ ...newest, model: `v${newest.version}`, release() {} });
  /** A server of another arithmetic: its logprobs are off by a little, up or down by the token. */
  const served = (policy: Policy): BatchSampler & { dispose(): void } => {
    const sampler = createSampler({ engine: shared, policy, tokenizer, maxRows: 64 });
    return {
      ...sampler,
      sampleBatch: async (requests, signal) =>
        (await sampler.sampleBatch(requests, signal)).map((completion) => ({
          ...completion,
          logprobs: completion.logprobs.map((x, i) =>
            Math.min(0, x + (o.off ?? 0) * (completion.tokens[i]! % 2 === 0 ? 1 : -1)),
          ),
        })),
    };
  };
  const loop = train(
    {
      ...{ config, algorithm, learner, seed: 5, tasksPerStep: 8, refillBatches: 0, clock: () => 0 },
      reference: start.trainable,
      source,
      async roll(tasks, step, attempt, { lease: leased, signal, cut }) {
        const server = leased && served({ ...start, trainable: leased.trainable, version: leased.version });
        try {
          return await rollGroups(tasks, {
            ...{
              environment: parrot,
              policy: server ?? local,
              tokenizer,
              renderer,
              seed: 5,
              step,
              round: attempt,
            },
            ...{
              groupSize: 8,
              maxRows: 64,
              concurrency: 1,
              retries: 0,
              retryDelayMs: 0,
              episodeTimeoutMs: 0,
            },
            ...{ signal, cut, decoding: { temperature: 1, topP: 1, topK: 0 } },
          });
        } finally {
          server?.dispose();
        }
      },
      async publish(policy) {
        local.update(policy);
        newest = { version: policy.version, order: newest.order + 1, trainable: policy.trainable };
        return {};
      },
      score: Object.assign((t: Trajectory) => score(t), { withTurnCredits: () => credited }),
      kinds: (segment) => segment.tokens.map(() => "other" as const),
      ...(o.remote && {
        remote: {
          lease,
          concurrency: 64,
          hurry() {},
          get newest() {
            return newest.order;
          },
        },
      }),
    },
    0,
    steps,
  );
  const reports = [];
  for await (const report of loop) reports.push(report);
  local.dispose();
  return { metrics: reports.map((report) => report.metrics), policy: learner.policy };
}

test("at staleness 0 servers of the trainer's own arithmetic give the run in process: order, seeds, what is learnt", async () => {
  const [local, remote] = [await run(4, {}, { remote: false }), await run(4, {}, { remote: true })];
  remote.metrics.forEach((m, step) => {
    expect(m.em).toBe(local.metrics[step]!.em);
    expect(m["mismatch/max_abs"]).toBeLessThan(1e-5);
    expect(m.approx_kl).toBeLessThan(1e-9);
    expect(m.pg_loss).toBeCloseTo(local.metrics[step]!.pg_loss!, 5);
    expect(m["importance/clipped_frac"]).toBe(0);
  });
});

test("turns are credited on servers as in process", async () => {
  const over = { turnCredit: 0.5 };
  const [local, remote] = [await run(2, over, { remote: false }), await run(2, over, { remote: true })];
  const plain = await run(2, {}, { remote: true });
  remote.metrics.forEach((m, step) => {
    expect(m.turn_credit).toBe(local.metrics[step]!.turn_credit);
    expect(m.turn_credit_flip_frac).toBe(local.metrics[step]!.turn_credit_flip_frac);
    expect(m.pg_loss).toBeCloseTo(local.metrics[step]!.pg_loss!, 5);
  });
  expect(remote.metrics[0]!.grad_norm).not.toBeCloseTo(plain.metrics[0]!.grad_norm!, 3);
});

test("the same remote run twice gives the same weights", async () => {
  const [a, b] = [await run(3, {}, { remote: true }), await run(3, {}, { remote: true })];
  expect(weightsSha256(a.policy)).toBe(weightsSha256(b.policy));
  expect(a.metrics).toEqual(b.metrics);
});

test("a gap is measured, weighed, and no part of the ratio that is clipped", async () => {
  const { metrics } = await run(2, {}, { remote: true, off: 0.3 });
  for (const m of metrics) {
    expect(m["mismatch/mean_abs"]).toBeCloseTo(0.3, 4);
    expect(m["mismatch/ess"]).toBeLessThan(0.95);
    // π_old is the trainer's: whatever the sampler says, the first update is on policy.
    expect(m.approx_kl).toBeLessThan(1e-9);
  }
  const masked = await run(
    1,
    { importance: { mode: "mask", low: 0.8, high: 1.2 } },
    { remote: true, off: 0.3 },
  );
  expect(masked.metrics[0]).toMatchObject({
    "importance/clipped_frac": 1,
    "importance/weight_mean": 0,
    grad_norm: 0,
  });
});

test("in process the gap is free: it is reported and changes no bit, and a mode may be asked for", async () => {
  const [plain, weighed] = [
    await run(2, {}, { remote: false }),
    await run(2, { importance: { mode: "token" } }, { remote: false }),
  ];
  expect(plain.metrics[0]!["mismatch/max_abs"]).toBeLessThan(1e-5);
  expect(plain.metrics[0]).not.toHaveProperty("importance/clipped_frac");
  expect(weighed.metrics[0]!["importance/clipped_frac"]).toBe(0);
  expect(weighed.metrics.map((m) => m.em)).toEqual(plain.metrics.map((m) => m.em));
});

test("two versions behind it still learns", async () => {
  const { metrics } = await run(16, { maxStaleness: 2 }, { remote: true });
  expect(metrics.at(-1)!.em! - metrics[0]!.em!).toBeGreaterThan(0.3);
  expect(Math.max(...metrics.map((m) => m.staleness_max!))).toBe(2);
  expect(metrics.reduce((n, m) => n + m.stale_groups!, 0)).toBe(0);
});
