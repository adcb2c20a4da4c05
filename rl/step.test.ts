import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import type { Environment } from "../env/environment.ts";
import type { Scorer } from "../reward/scored.ts";
import { rollGroups } from "../rollout/groups.ts";
import { algorithmOf, rlConfig } from "./config.ts";
import { DivergedError } from "./diverged.ts";
import { createLearner } from "./learner.ts";
import { parrot, renderer, shape, source, tokenizer, words } from "./parrot-toys.ts";
import { createSampler } from "./policy/generate.ts";
import { initPolicy } from "./policy/init.ts";
import { weightsSha256 } from "./policy/weights-hash.ts";
import { train } from "./step.ts";
import { tokenKinds } from "./token-kinds.ts";

/** Right is who says, at last, the word of the question. */
const lastWord: Scorer = (t) => {
  const right = Number(t.sequences[0]!.segments.at(-1)!.text === t.task.question);
  return { ...t, parts: { exactMatch: right, constant: 1 }, reward: right };
};

async function run(
  engine: Engine,
  steps: number,
  over: object = {},
  { environment = parrot, score = lastWord } = {},
) {
  const config = rlConfig.parse({
    steps,
    filter: "none",
    schedule: { learningRate: 1e-2 },
    slots: 512,
    ...over,
  });
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
      source,
      roll: (tasks, step) =>
        rollGroups(tasks, {
          environment,
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
      score,
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

describe("credit of turns", () => {
  /** Two words, with one of ours between them. */
  const twoTurns: Environment = {
    name: "two turns",
    seats: ["parrot"],
    async play(_question, seats) {
      await seats.parrot!.act({ stop: [], maxTokens: 1 });
      await seats.parrot!.observe("ant");
      await seats.parrot!.act({ stop: [], maxTokens: 1 });
      return { outcome: "answered", turns: 2, searches: [], invalidActions: 0, observationTokensCut: 0 };
    },
  };
  const spoken = ({ sequences, task }: Parameters<Scorer>[0]) =>
    sequences[0]!.segments
      .filter(({ source }) => source === "policy")
      .map(({ text }) => Number(text === task.question));
  /** No episode earns anything; of the turns the first is worth something, when it says the word of the question. */
  const plain: Scorer = (t) => ({ ...t, parts: { exactMatch: 0, first: spoken(t)[0]! }, reward: 0 });
  const score: Scorer = Object.assign((t: Parameters<Scorer>[0]) => plain(t), {
    withTurnCredits: (): Scorer => (t) => ({ ...plain(t), turnCredits: [[spoken(t)[0]!, 0]] }),
  });
  const toys = { environment: twoTurns, score };

  test("alone it teaches a turn what the reward never says", async () => {
    const { reports } = await run(engine, 45, { turnCredit: 1 }, toys);
    const [first, last] = [reports[0]!.metrics, reports.at(-1)!.metrics];
    expect(first["reward/first"]).toBeLessThan(0.35);
    expect(last["reward/first"]).toBeGreaterThan(0.85);
    expect(first.turn_credit).toBeCloseTo(first["reward/first"]! / 2, 12);
    expect(last).toMatchObject({ reward: 0, zero_std_frac: 1, turn_credit_flip_frac: 0 });
    const { trajectory, advantage, turnAdvantages } = reports[0]!.trajectories[0]!;
    expect(advantage).toBe(0);
    const { turnCredits } = trajectory as ReturnType<Scorer>;
    expect(turnCredits![0]![0]! - turnCredits![0]![1]!).toBeCloseTo(
      turnAdvantages![0]![0]! - turnAdvantages![0]![1]!,
      12,
    );
  });

  test("without it nothing is learned there, and nothing is said of it", async () => {
    const { reports } = await run(engine, 1, {}, toys);
    expect(reports[0]!.metrics).toMatchObject({ grad_norm: 0 });
    expect(Object.keys(reports[0]!.metrics).filter((name) => name.startsWith("turn_"))).toEqual([]);
    expect(reports[0]!.trajectories[0]).not.toHaveProperty("turnAdvantages");
    expect(reports[0]!.trajectories[0]!.trajectory).not.toHaveProperty("turnCredits");
  });

  test("the filter looks at the reward: credits save no group without spread", async () => {
    const { policy } = await run(engine, 1, { turnCredit: 1, filter: "spread" }, toys);
    expect(policy.version).toBe(0);
  });
});
