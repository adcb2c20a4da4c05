import { expect, test } from "vitest";
import { rng } from "../core/rng.ts";
import type { Arr } from "../engine/array.ts";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import { createLearner } from "./learner.ts";
import type { WeightedRow } from "./micro-batch.ts";
import { tinyModel, tinySchema } from "./policy/config.ts";
import { weightShapes } from "./policy/model-config.ts";
import type { Policy } from "./policy/policy.ts";

const UPDATES = 6;
const config = tinyModel(
  tinySchema.parse({ layers: 2, hidden: 32, heads: 4, intermediate: 48, contextTokens: 64 }),
  { size: 40, eosIds: [1], padId: 0 },
);

function policy(): Policy {
  const trainable: Record<string, Arr> = {};
  for (const [name, shape] of weightShapes(config)) {
    const draw = rng(7, name);
    const length = shape.reduce((a, b) => a * b, 1);
    const data = Float32Array.from({ length }, () => (shape.length === 1 ? 1 : (draw() - 0.5) * 0.5));
    trainable[name] = { shape, dtype: "float32", data };
  }
  return { config, frozen: {}, trainable, version: 0 };
}

/** Eight rows; a third of the tokens trained on, advantages of both signs. */
function rows(): WeightedRow[] {
  const draw = rng(7, "rows");
  return Array.from({ length: 8 }, (_, i) => {
    const tokens = Array.from({ length: 20 + draw.int(30) }, () => draw.int(config.vocabSize));
    const mask = tokens.map((_, t) => Number(t > 0 && t % 3 === 0));
    return {
      tokens,
      mask,
      oldLogprobs: mask.map((m) => m * -3.6),
      advantages: mask.map((m) => m * (i % 2 ? 1 : -0.7)),
      weights: mask.map((m) => m / 100),
      temperature: 1,
    };
  });
}

async function losses(engine: Engine): Promise<number[]> {
  const learner = createLearner({
    engine,
    policy: policy(),
    loss: {
      surrogate: "ppoClip",
      kl: "none",
      klCoefficient: 0,
      clipLow: 0.2,
      clipHigh: 0.28,
      entropyCoefficient: 0.01,
    },
    optimizer: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, maxGradNorm: 1 },
    slots: 256,
  });
  const out: number[] = [];
  for (let i = 0; i < UPDATES; i++)
    out.push((await learner.update(rows(), { temperature: 1, learningRate: 1e-3 })).policyLoss);
  return out;
}

test.skipIf(process.env.FORAGER_TENSORFLOW !== "1")(
  "six losses of the tiny policy on TensorFlow equal ours (opt-in: FORAGER_TENSORFLOW=1 after npm run install:tensorflow -- cpu)",
  async () => {
    const engines = [await openEngine({ threads: 2 }), await openEngine({ backend: "tensorflow" })] as const;
    const [ours, theirs] = [await losses(engines[0]), await losses(engines[1])];
    for (const engine of engines) await engine.dispose();
    const distance = Math.max(...ours.map((loss, i) => Math.abs(loss - (theirs[i] as number))));
    console.info(`losses ${ours.join(" ")}; largest difference ${distance}`);
    expect(new Set(ours).size).toBe(UPDATES);
    expect(distance).toBeLessThanOrEqual(2e-5);
  },
);
