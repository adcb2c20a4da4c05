import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SamplerError } from "../../core/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import { createLearner } from "../learner.ts";
import { adapted } from "./continuous-toys.ts";
import type { Policy } from "./policy.ts";
import { config, policy, randomPrompt } from "./sampling-toys.ts";
import { promptScorer } from "./score-prompt.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine({ threads: 1 });
});
afterAll(() => engine.dispose());

const weightsOf = ({ frozen, trainable }: Policy) => ({ ...frozen, ...trainable });

/** Log-probabilities as the trainer recomputes them. */
async function learned(of: Policy, tokens: readonly number[]): Promise<number[]> {
  const learner = createLearner({
    ...{ engine, policy: of, slots: 1024 },
    loss: {
      ...{ surrogate: "ppoClip", kl: "none", klCoefficient: 0 },
      ...{ clipLow: 0.2, clipHigh: 0.2, entropyCoefficient: 0 },
    },
    optimizer: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 1 },
  });
  const ones = tokens.map(() => 1);
  const row = { tokens, mask: ones, weights: ones, oldLogprobs: ones, advantages: ones, temperature: 1 };
  const [logprobs] = await learner.logprobs([row], 1);
  return (logprobs as number[]).slice(1);
}

describe("teacher-forced scores", () => {
  test.each([
    ["a text of one call", policy, 40],
    ["a text of several calls", policy, 600],
    ["an adapter", adapted(1), 300],
  ])("of %s are the trainer's", async (_, of, length) => {
    const tokens = randomPrompt(length, 4);
    const scored = await promptScorer(engine, config, of.lora)(weightsOf(of), tokens, { top: 0 });
    const truth = await learned(of, tokens);
    expect(scored.map(({ id }) => id)).toEqual(tokens.slice(1));
    expect(truth).toHaveLength(scored.length);
    const gaps = scored.map(({ logprob }, i) => Math.abs(logprob - (truth[i] as number)));
    expect(Math.max(...gaps)).toBeLessThan(1e-5);
  });

  test("ranks and the likeliest agree with the whole row", async () => {
    const score = promptScorer(engine, config, undefined);
    const tokens = randomPrompt(20, 6);
    const whole = await score(weightsOf(policy), tokens, { top: config.vocabSize });
    const few = await score(weightsOf(policy), tokens, { top: 3 });
    for (const [i, { id, logprob, rank, top }] of whole.entries()) {
      expect(top).toHaveLength(config.vocabSize);
      expect(top.reduce((sum, each) => sum + Math.exp(each.logprob), 0)).toBeCloseTo(1, 5);
      expect(top[rank - 1]).toEqual({ id, logprob });
      expect(few[i]).toEqual({ id, logprob, rank, top: top.slice(0, 3) });
    }
    expect(new Set(whole.map(({ rank }) => rank)).size).toBeGreaterThan(3);
  });

  test("of one token there are none; an abort and bad weights end it, not the next", async () => {
    const score = promptScorer(engine, config, undefined);
    expect(await score(weightsOf(policy), [5], { top: 1 })).toEqual([]);
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(score(weightsOf(policy), [5, 6], { top: 0, signal })).rejects.toThrow("enough");
    const norm = { shape: [config.hiddenSize], dtype: "float32" as const };
    const sick = {
      ...weightsOf(policy),
      "model.norm.weight": { ...norm, data: new Float32Array(config.hiddenSize).fill(Number.NaN) },
    };
    await expect(score(sick, [5, 6], { top: 0 })).rejects.toThrow(SamplerError);
    expect(await score(weightsOf(policy), [5, 6], { top: 0 })).toHaveLength(1);
  });
});
