import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rng } from "../core/rng.ts";
import type { Arr, Params } from "../engine/array.ts";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import { weigh } from "./aggregation.ts";
import { DivergedError } from "./diverged.ts";
import { createLearner, type LossConfig } from "./learner.ts";
import { lossTerms } from "./loss-terms.ts";
import type { WeightedRow } from "./micro-batch.ts";
import { tinyModel, tinySchema } from "./policy/config.ts";
import { weightShapes } from "./policy/model-config.ts";
import type { Policy } from "./policy/policy.ts";
import { type AggregationName, aggregate, aggregations } from "./reference/aggregate.ts";
import { surrogates as plain } from "./reference/surrogate.ts";
import type { Row } from "./row.ts";
import { type SurrogateName, surrogates } from "./surrogate.ts";

const config = tinyModel(
  tinySchema.parse({ layers: 1, hidden: 16, heads: 2, intermediate: 24, contextTokens: 64 }),
  { size: 19, eosIds: [1], padId: 0 },
);
const optimizer = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 1e9 };
const dapo: LossConfig = {
  surrogate: "ppoClip",
  kl: "none",
  klCoefficient: 0,
  clipLow: 0.2,
  clipHigh: 0.28,
  entropyCoefficient: 0,
};

function randomPolicy(seed: number): Policy {
  const trainable: Record<string, Arr> = {};
  for (const [name, shape] of weightShapes(config)) {
    const draw = rng(seed, name);
    const data = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () =>
      shape.length === 1 ? 1 + 0.2 * draw() : (draw() - 0.5) * 0.9,
    );
    trainable[name] = { shape, dtype: "float32", data };
  }
  return { config, frozen: {}, trainable, version: 0 };
}

/** Rows of different lengths with policy tokens in the middle, ratios up to e^±0.5 off the present policy. */
async function randomRows(engine: Engine, policy: Policy, seed: number, count = 7): Promise<Row[]> {
  const draw = rng(seed, "rows");
  const bare = Array.from({ length: count }, (_, i) => {
    const tokens = Array.from({ length: 6 + draw.int(38) }, () => draw.int(config.vocabSize));
    const mask = tokens.map((_, t) => (t > 2 && t % 5 !== 0 ? 1 : 0));
    return {
      tokens,
      mask,
      oldLogprobs: mask.map(() => 0),
      advantages: mask.map((m) => m * [0.75, -0.25, 1.5, -2][i % 4]!),
      weights: mask,
      temperature: 1,
    };
  });
  const now = await createLearner({ engine, policy, loss: dapo, optimizer, slots: 512 }).logprobs(bare, 0.8);
  return bare.map((row, r) => ({
    ...row,
    temperature: 0.8,
    oldLogprobs: row.mask.map((m, t) => (m ? now[r]![t]! + (draw() - 0.5) : 0)),
  }));
}

let engine: Engine;
let policy: Policy;
let rows: Row[];
beforeAll(async () => {
  engine = await openEngine({});
  policy = randomPolicy(3);
  rows = await randomRows(engine, policy, 5);
});
afterAll(() => engine.dispose());

const denominators = { sampledTokens: 400, constantTokens: 64 };
const weighted = (name: AggregationName): WeightedRow[] => weigh(rows, name, denominators);
const learner = (loss: LossConfig, slots = 512) => createLearner({ engine, policy, loss, optimizer, slots });
const gradientOf = (mu: Params) =>
  Object.fromEntries(Object.entries(mu).map(([n, p]) => [n, Float32Array.from(p.data, (x) => x / 0.1)]));
const maxGap = (a: Record<string, Float32Array>, b: Record<string, Float32Array>) =>
  Math.max(
    ...Object.keys(a).map((n) => a[n]!.reduce((worst, x, i) => Math.max(worst, Math.abs(x - b[n]![i]!)), 0)),
  );

describe.each(Object.keys(surrogates) as SurrogateName[])("surrogate %s", (surrogate) => {
  test.each(Object.keys(aggregations) as AggregationName[])(
    "the tensor loss under %s equals the plain-number one",
    async (name) => {
      const one = learner({ ...dapo, surrogate });
      const logprobs = await one.logprobs(weighted(name), 0.8);
      const report = await one.update(weighted(name), { temperature: 0.8, learningRate: 0 });
      const losses = rows.map((row, r) =>
        plain[surrogate](
          {
            logprobs: logprobs[r]!,
            oldLogprobs: row.oldLogprobs,
            advantages: row.advantages,
            mask: row.mask,
          },
          dapo,
        ),
      );
      const lengths = rows.map((row) => row.mask.reduce((a, b) => a + b, 0));
      const expected = aggregate(losses, aggregations[name](lengths, denominators));
      expect(report.policyLoss).toBeCloseTo(expected, 4);
    },
  );
});

test("the gradient is the same however the rows are split into micro-batches", async () => {
  const gradients = await Promise.all(
    [4096, 128, 32].map(async (slots) => {
      const one = learner(dapo, slots);
      await one.update(weighted("tokenMean"), { temperature: 0.8, learningRate: 0 });
      return gradientOf(one.optimizer.mu);
    }),
  );
  expect(maxGap(gradients[0]!, gradients[1]!)).toBeLessThan(1e-6);
  expect(maxGap(gradients[0]!, gradients[2]!)).toBeLessThan(1e-6);
});

test.each([
  ["ppoClip", dapo],
  [
    "gspo + k3 + entropy",
    { ...dapo, surrogate: "gspo", kl: "k3", klCoefficient: 0.5, entropyCoefficient: 0.2 },
  ],
] as [string, LossConfig][])(
  "logits at the needed positions alone give the same step (%s)",
  async (_name, loss) => {
    const input = weighted("tokenMean").map((row) => ({
      ...row,
      reference: row.oldLogprobs.map((x) => x + 0.1),
    }));
    const [all, needed] = await Promise.all(
      [Number.POSITIVE_INFINITY, 0].map(async (pickFrom) => {
        const one = createLearner({ engine, policy, loss, optimizer, slots: 128, pickFrom });
        const logprobs = await one.logprobs(input, 0.8);
        const report = await one.update(input, { temperature: 0.8, learningRate: 0 });
        return { logprobs, report, gradient: gradientOf(one.optimizer.mu) };
      }),
    );
    expect(needed!.report.policyLoss).toBeCloseTo(all!.report.policyLoss, 5);
    expect(maxGap(needed!.gradient, all!.gradient)).toBeLessThan(1e-6);
    for (const [r, row] of input.entries())
      for (const [t, m] of row.mask.entries()) {
        const read = (from: typeof all) => [
          from!.logprobs[r]![t]!,
          from!.report.logprobs[r]![t]!,
          from!.report.entropies[r]![t]!,
        ];
        read(needed).forEach((x, i) => {
          expect(x).toBeCloseTo(m ? read(all)[i]! : 0, 5);
        });
      }
  },
);

test.each([
  ["ppoClip", { ...dapo }],
  ["gspo", { ...dapo, surrogate: "gspo" }],
  ["ppoClip + k3", { ...dapo, kl: "k3", klCoefficient: 0.5 }],
  ["ppoClip + k2 + entropy", { ...dapo, kl: "k2", klCoefficient: 0.3, entropyCoefficient: 0.2 }],
] as [string, LossConfig][])(
  "gradient of the whole loss (%s) equals finite differences",
  async (_name, loss) => {
    const reference = rows.map((row) => row.mask.map((m, t) => (m ? row.oldLogprobs[t]! + 0.1 : 0)));
    const input = weighted("tokenMean").map((row, r) => ({ ...row, reference: reference[r]! }));
    const one = createLearner({ engine, policy, loss, optimizer, slots: 512 });
    await one.update(input, { temperature: 0.8, learningRate: 0 });
    const gradient = gradientOf(one.optimizer.mu);
    const objective = async (p: Policy) => {
      const at = createLearner({ engine, policy: p, loss, optimizer, slots: 512 });
      const report = await at.update(input, { temperature: 0.8, learningRate: 0 });
      return lossTerms(input, report, loss).loss;
    };
    const draw = rng(11, "finite differences");
    for (const name of Object.keys(policy.trainable)) {
      const weight = policy.trainable[name]!;
      // Along the gradient the directional derivative is its norm: one number checks the whole weight.
      const norm = Math.sqrt(gradient[name]!.reduce((s, g) => s + g * g, 0));
      if (norm < 1e-2) continue;
      const h = 1e-3 * (1 + 0.1 * draw());
      const moved = (sign: number) => ({
        ...policy,
        trainable: {
          ...policy.trainable,
          [name]: {
            ...weight,
            data: Float32Array.from(weight.data, (x, i) => x + (sign * h * gradient[name]![i]!) / norm),
          },
        },
      });
      const slope = ((await objective(moved(1))) - (await objective(moved(-1)))) / (2 * h);
      expect(Math.abs(slope - norm) / norm, `${name}: slope ${slope}, gradient ${norm}`).toBeLessThan(0.02);
    }
  },
);

test("one step run 200 times gives the same bits", async () => {
  // One compiled graph for all learners, so that the runs and not the compiler take the time.
  const kept = new Map<string, unknown>();
  const once: Engine = {
    ...engine,
    jit: (name, fn) => (kept.get(name) ?? kept.set(name, engine.jit(name, fn)).get(name)) as never,
  };
  const fresh = () => createLearner({ engine: once, policy, loss: dapo, optimizer, slots: 64 });
  const first = fresh();
  await first.update(weighted("tokenMean"), { temperature: 0.8, learningRate: 1e-3 });
  for (let run = 0; run < 200; run++) {
    const again = fresh();
    await again.update(weighted("tokenMean"), { temperature: 0.8, learningRate: 1e-3 });
    for (const [name, weight] of Object.entries(again.policy.trainable))
      expect(Buffer.compare(bytes(weight), bytes(first.policy.trainable[name]!)), `run ${run}, ${name}`).toBe(
        0,
      );
  }
});

const bytes = ({ data }: Arr) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

test("zero advantage gives a zero gradient, masked rows weigh nothing", async () => {
  const one = learner(dapo);
  const report = await one.update(
    weighted("tokenMean").map((row) => ({ ...row, advantages: row.advantages.map(() => 0) })),
    { temperature: 0.8, learningRate: 1 },
  );
  expect(report.gradNorm).toBe(0);
});

test.each([
  ["steps out of float32", 1e30, (row: WeightedRow) => row, /holds/],
  [
    "has a loss that is no number",
    1e-3,
    (row: WeightedRow) => ({ ...row, oldLogprobs: row.mask.map(() => Number.NaN) }),
    /loss NaN/,
  ],
] as const)(
  "an update that %s throws, and the policy stays the one before",
  async (_, learningRate, spoil, got) => {
    const one = learner(dapo);
    await one.update(weighted("tokenMean"), { temperature: 0.8, learningRate: 1e-3 });
    const [before, adam] = [one.policy, one.optimizer];
    const update = one.update(weighted("tokenMean").map(spoil), { temperature: 0.8, learningRate });
    await expect(update).rejects.toThrow(DivergedError);
    await expect(update).rejects.toThrow(got);
    await expect(update).rejects.toThrow(/optimiser step 2/);
    expect(one.policy).toBe(before);
    expect(one.optimizer).toBe(adam);
  },
);

test("the gradient norm is reported before clipping and the step is bounded by it", async () => {
  const clipped = createLearner({
    engine,
    policy,
    loss: dapo,
    optimizer: { ...optimizer, maxGradNorm: 1e-3 },
    slots: 512,
  });
  const report = await clipped.update(weighted("seqMeanTokenSum"), { temperature: 0.8, learningRate: 0 });
  expect(report.gradNorm).toBeGreaterThan(1e-3);
  const norm = Math.sqrt(
    Object.values(gradientOf(clipped.optimizer.mu)).reduce((s, g) => s + g.reduce((q, x) => q + x * x, 0), 0),
  );
  expect(norm).toBeCloseTo(1e-3, 5);
});
