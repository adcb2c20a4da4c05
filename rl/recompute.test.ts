import { afterAll, beforeAll, expect, test } from "vitest";
import { rng } from "../core/rng.ts";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import { weigh } from "./aggregation.ts";
import { createLearner, type LossConfig } from "./learner.ts";
import type { WeightedRow } from "./micro-batch.ts";
import { tinyModel, tinySchema } from "./policy/config.ts";
import { initPolicy } from "./policy/init.ts";
import type { Policy } from "./policy/policy.ts";
import { recompute } from "./recompute.ts";
import { icePop, truncatedImportance } from "./reference/importance.ts";
import { surrogates as plain } from "./reference/surrogate.ts";

const config = tinyModel(
  tinySchema.parse({ layers: 1, hidden: 16, heads: 2, intermediate: 24, contextTokens: 64 }),
  { size: 19, eosIds: [1], padId: 0 },
);
const optimizer = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 1e9 };
const loss: LossConfig = {
  ...{
    surrogate: "ppoClip",
    kl: "none",
    klCoefficient: 0,
    clipLow: 0.2,
    clipHigh: 0.28,
    entropyCoefficient: 0,
  },
};
const temperature = 0.8;
const bounds = { cap: 1.3, low: 0.8, high: 1.3 };

let engine: Engine;
/** The version that sampled, and the one that learns: a few updates later. */
let sampled: Policy;
let present: Policy;
let recorded: WeightedRow[];
const learnerOf = (policy: Policy) => createLearner({ engine, policy, loss, optimizer, slots: 512 });

beforeAll(async () => {
  engine = await openEngine({});
  sampled = randomPolicy();
  const draw = rng(5, "rows");
  const bare = Array.from({ length: 5 }, (_, i) => {
    const tokens = Array.from({ length: 8 + draw.int(20) }, () => draw.int(config.vocabSize));
    const mask = tokens.map((_, t) => (t > 2 && t % 5 !== 0 ? 1 : 0));
    const advantages = mask.map((m) => (m === 0 ? 0 : [0.75, -0.25, 1.5, -2, 1][i]!));
    return { tokens, mask, advantages, oldLogprobs: mask.map(() => 0), temperature, version: 4 };
  });
  const weighted = weigh(bare, "tokenMean", { sampledTokens: 1, constantTokens: 1 });
  const exact = await learnerOf(sampled).logprobs(weighted, temperature);
  // A sampler in another arithmetic: up to ±0.4 off, so that both bounds matter.
  recorded = weighted.map((row, r) => ({
    ...row,
    oldLogprobs: row.mask.map((m, t) => (m ? exact[r]![t]! + 0.8 * (draw() - 0.5) : 0)),
  }));
  const names = Object.keys(sampled.trainable);
  const moved = { ...sampled.trainable, ...movedBy(sampled, names[names.length - 2]!, 0.02) };
  present = { ...sampled, trainable: moved, version: 6 };
});
afterAll(() => engine.dispose());

/** Weights large enough that a step of finite differences is far above rounding. */
function randomPolicy(): Policy {
  const start = initPolicy(config, 3);
  const trainable = Object.entries(start.trainable).map(([name, weight]) => {
    const draw = rng(3, name);
    const data = Float32Array.from(weight.data, () =>
      weight.shape.length === 1 ? 1 + 0.2 * draw() : 0.9 * (draw() - 0.5),
    );
    return [name, { ...weight, data }] as const;
  });
  return { ...start, trainable: Object.fromEntries(trainable) };
}
function movedBy({ trainable }: Policy, name: string, by: number | Float32Array) {
  const weight = trainable[name]!;
  const data = Float32Array.from(weight.data, (x, i) => x + (typeof by === "number" ? by : by[i]!));
  return { [name]: { ...weight, data } };
}
const trainable = (version: number) => {
  expect(version).toBe(4);
  return sampled.trainable;
};

test("π_old is the trainer's under the version that sampled; the sampler's own is kept beside it", async () => {
  const rows = await recompute(learnerOf(present), recorded, {
    trainable,
    importance: { mode: "none", ...bounds },
  });
  const own = await learnerOf(sampled).logprobs(recorded, temperature);
  rows.forEach((row, r) => {
    expect(row.oldLogprobs).toEqual(own[r]!.map((x, t) => (row.mask[t] ? x : 0)));
    expect(row.sampler).toEqual(recorded[r]!.oldLogprobs);
    expect(row.advantages).toEqual(recorded[r]!.advantages);
    expect(row.weights).toEqual(recorded[r]!.weights);
    expect(row).not.toHaveProperty("importance");
  });
});

test("rows of several versions are each recomputed under their own", async () => {
  const mixed = recorded.map((row, i) => ({ ...row, version: i % 2 === 0 ? 4 : 6 }));
  const rows = await recompute(learnerOf(present), mixed, {
    trainable: (version) => (version === 4 ? sampled : present).trainable,
    importance: { mode: "none", ...bounds },
  });
  const [before, now] = await Promise.all(
    [sampled, present].map((policy) => learnerOf(policy).logprobs(recorded, temperature)),
  );
  rows.forEach((row, r) => {
    const expected = (r % 2 === 0 ? before : now)![r]!;
    row.mask.forEach((m, t) => {
      if (m) expect(row.oldLogprobs[t]).toBeCloseTo(expected[t]!, 5);
    });
  });
});

/** The loss as the plain reference has it: the weight outside the surrogate's min and clip. */
async function referenceLoss(
  policy: Policy,
  rows: readonly WeightedRow[],
  weight: typeof truncatedImportance,
) {
  const logprobs = await learnerOf(policy).logprobs(recorded, temperature);
  let total = 0;
  rows.forEach(({ oldLogprobs, sampler, weights, mask }, r) => {
    const { advantages } = recorded[r]!;
    const losses = plain.ppoClip({ logprobs: logprobs[r]!, oldLogprobs, advantages, mask }, loss);
    losses.forEach((each, t) => {
      if (mask[t]) total += weights[t]! * weight(oldLogprobs[t]!, sampler![t]!) * each;
    });
  });
  return total;
}

test.each([
  ["token", (o: number, s: number) => truncatedImportance(o, s, bounds.cap)],
  ["mask", (o: number, s: number) => icePop(o, s, bounds.low, bounds.high)],
] as const)("loss and gradient under %s are those of the plain reference", async (mode, weight) => {
  const learner = learnerOf(present);
  const rows = await recompute(learner, recorded, { trainable, importance: { mode, ...bounds } });
  const capped = rows.flatMap(({ importance }) => zipped(importance!.ratios, importance!.weights));
  expect(capped.some(([ratio, w]) => ratio !== w)).toBe(true);
  expect(capped.some(([ratio, w]) => ratio !== 0 && ratio === w)).toBe(true);

  const report = await learner.update(rows, { temperature, learningRate: 0 });
  expect(report.policyLoss).toBeCloseTo(await referenceLoss(present, rows, weight), 5);
  for (const [name, mu] of Object.entries(learner.optimizer.mu)) {
    const gradient = Float32Array.from(mu.data as Float32Array, (x) => x / 0.1);
    const norm = Math.sqrt(gradient.reduce((sum, g) => sum + g * g, 0));
    if (norm < 1e-2) continue;
    const h = 1e-3;
    const at = (sign: number) =>
      referenceLoss(
        {
          ...present,
          trainable: {
            ...present.trainable,
            ...movedBy(
              present,
              name,
              gradient.map((g) => (sign * h * g) / norm),
            ),
          },
        },
        rows,
        weight,
      );
    const slope = ((await at(1)) - (await at(-1))) / (2 * h);
    expect(Math.abs(slope - norm) / norm, `${name}: slope ${slope}, gradient ${norm}`).toBeLessThan(0.02);
  }
});

const zipped = (a: readonly number[], b: readonly number[]) => a.map((x, i) => [x, b[i]!] as const);
