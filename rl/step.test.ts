import { afterAll, beforeAll, expect, test } from "vitest";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import type { Environment } from "../env/environment.ts";
import { toyTask } from "../reward/testing.ts";
import { rollGroups } from "../rollout/groups.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import { algorithmOf, rlConfig } from "./config.ts";
import { DivergedError } from "./diverged.ts";
import { createLearner } from "./learner.ts";
import { tinyModel, tinySchema } from "./policy/config.ts";
import { createSampler } from "./policy/generate.ts";
import { initPolicy } from "./policy/init.ts";
import { weightsSha256 } from "./policy/weights-hash.ts";
import { train } from "./step.ts";
import { tokenKinds } from "./token-kinds.ts";

/** The smallest task there is: of eight words, say the one that the question names. */
const words = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"];
const tokenizer = tinyTokenizer({ special: ["<pad>", "<eos>"], words, syllables: [] });
const renderer = {
  prompt: (question: string) => tokenizer.encode(question),
  observation: (text: string) => text,
};
const parrot: Environment = {
  name: "parrot",
  seats: ["parrot"],
  async play(_question, seats) {
    await seats.parrot!.act({ stop: [], maxTokens: 1 });
    return { outcome: "answered", turns: 1, searches: [], invalidActions: 0, observationTokensCut: 0 };
  },
};

async function run(engine: Engine, steps: number, over: object = {}) {
  const config = rlConfig.parse({
    steps,
    filter: "none",
    schedule: { learningRate: 1e-2 },
    slots: 512,
    ...over,
  });
  const shape = tinyModel(
    tinySchema.parse({ layers: 1, hidden: 16, heads: 2, intermediate: 16, contextTokens: 16 }),
    { size: tokenizer.vocabSize, eosIds: tokenizer.eosIds, padId: tokenizer.padId },
  );
  const algorithm = algorithmOf(config);
  const learner = createLearner({
    engine,
    policy: initPolicy(shape, 3),
    loss: { ...algorithm, entropyCoefficient: config.entropyCoefficient },
    optimizer: config.optimizer,
    slots: config.slots,
  });
  const sampler = createSampler({ engine, policy: learner.policy, tokenizer, maxRows: 64 });
  const decoding = { temperature: 1, topP: 1, topK: 0 };
  const reports = [];
  const loop = train(
    {
      config,
      algorithm,
      seed: 5,
      tasksPerStep: 8,
      refillBatches: 0,
      learner,
      reference: learner.policy.trainable,
      async publish(policy) {
        sampler.update(policy);
        return {};
      },
      source: {
        batch: () => words.map((word) => ({ ...toyTask, id: word, question: word, goldenAnswers: [word] })),
      },
      roll: (tasks, step) =>
        rollGroups(tasks, {
          environment: parrot,
          policy: sampler,
          tokenizer,
          renderer,
          decoding,
          seed: 5,
          step,
          groupSize: 8,
          maxRows: 64,
          concurrency: 1,
          retries: 0,
          retryDelayMs: 0,
          episodeTimeoutMs: 0,
        }),
      score: (t) => {
        const right = Number(t.sequences[0]!.segments.at(-1)!.text === t.task.question);
        return { ...t, parts: { exactMatch: right, constant: 1 }, reward: right };
      },
      kinds: (segment) => tokenKinds(segment, tokenizer),
      clock: () => 0,
    },
    0,
    steps,
  );
  for await (const report of loop) reports.push(report);
  sampler.dispose();
  return { reports, policy: learner.policy };
}

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine({});
});
afterAll(() => engine.dispose());

test.each(["dmi", "grpo", "search-r1", "rejection-sampling"])(
  "preset %s solves the task from random weights",
  async (preset) => {
    const { reports } = await run(engine, 40, { preset });
    expect(reports[0]!.metrics.em).toBeLessThan(0.35);
    expect(reports.at(-1)!.metrics.em).toBeGreaterThan(0.85);
  },
);

test("the first update is on policy: ratio 1, nothing clipped", async () => {
  const { reports } = await run(engine, 1);
  expect(reports[0]!.metrics.approx_kl).toBeLessThan(1e-9);
  expect(reports[0]!.metrics).toMatchObject({ clip_frac_low: 0, clip_frac_high: 0, updates: 1, batches: 1 });
});

test("the same run twice gives the same weights and the same metrics; each update is a version", async () => {
  const [a, b] = [await run(engine, 4, { updatesPerStep: 2 }), await run(engine, 4, { updatesPerStep: 2 })];
  expect(weightsSha256(a.policy)).toBe(weightsSha256(b.policy));
  expect(a.reports.map((r) => r.metrics)).toEqual(b.reports.map((r) => r.metrics));
  expect(a.policy.version).toBe(8);
});

test("a step whose groups carry no signal changes nothing, says so, and invents no numbers", async () => {
  const { reports, policy } = await run(engine, 2, { filter: "spread", filterMetric: "constant" });
  expect(policy.version).toBe(0);
  const { metrics } = reports[1]!;
  expect(metrics).toMatchObject({ updates: 0, groups_kept: 0, zero_std_frac: 1 });
  for (const name of ["loss", "pg_loss", "entropy", "approx_kl", "clip_frac_low", "grad_norm"])
    expect(metrics).not.toHaveProperty(name);
});

test.each([
  ["none", "reward"],
  ["correct", "exactMatch"],
  ["spread", "reward"],
])("groups of equal reward are counted as such under filter %s", async (filter, filterMetric) => {
  const { reports } = await run(engine, 3, { filter, filterMetric });
  for (const { metrics, trajectories } of reports) {
    const equal = words.map((_, g) => {
      const members = trajectories.filter(({ group }) => group === g);
      const right = members.filter(
        ({ trajectory }) => "reward" in trajectory && trajectory.reward === 1,
      ).length;
      return right === 0 ? "wrong" : right === members.length ? "right" : "none";
    });
    const share = (of: string[]) => equal.filter((each) => of.includes(each)).length / 8;
    expect(share(["wrong"])).toBeGreaterThan(0);
    expect(metrics.zero_std_frac).toBeCloseTo(share(["wrong", "right"]), 12);
    expect(metrics.zero_std_frac_all_wrong).toBeCloseTo(share(["wrong"]), 12);
    expect(metrics.groups_kept).toBe(
      new Set(trajectories.filter((t) => t.verdict === "kept").map((t) => t.group)).size,
    );
  }
});

test("all that is trained on is reported: the KL to the reference, the entropy bonus, and their sum with the policy loss", async () => {
  const { reports } = await run(engine, 3, { preset: "grpo", klCoefficient: 0.5, entropyCoefficient: 0.1 });
  const [first, , last] = reports.map(({ metrics }) => metrics);
  expect(first!.kl_ref).toBeCloseTo(0, 8);
  expect(last!.kl_ref).toBeGreaterThan(1e-5);
  expect(last!.kl_loss).toBeGreaterThan(0);
  expect(last!.entropy_bonus).toBeGreaterThan(0);
  expect(last!.loss).toBeCloseTo(last!.pg_loss! + last!.kl_loss! - last!.entropy_bonus!, 12);
});

test("what is not in the loss is not in the report: no KL, no clip of what has no ratio", async () => {
  const { reports } = await run(engine, 1, { preset: "rejection-sampling", filter: "none" });
  expect(reports[0]!.metrics.loss).toBe(reports[0]!.metrics.pg_loss);
  for (const name of ["kl_ref", "kl_loss", "entropy_bonus", "clip_frac_low", "clip_frac_high"])
    expect(reports[0]!.metrics).not.toHaveProperty(name);
});

test("training that diverges ends with an error, not with numbers that are none", async () => {
  await expect(run(engine, 4, { schedule: { learningRate: 1e30 } })).rejects.toThrow(DivergedError);
});

test("a filter on a metric that no part gives names it and what there is", async () => {
  await expect(run(engine, 1, { filter: "spread", filterMetric: "nothing" })).rejects.toThrow(
    /metric `nothing` has no value.*exactMatch/,
  );
});
