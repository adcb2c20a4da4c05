import assert from "node:assert/strict";
import * as tf from "@tensorflow/tfjs-core";
import { rng } from "../../core/rng.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Completion, SampleRequest, SamplingParams } from "../../rollout/sampler.ts";
import { tinyTokenizer } from "../../rollout/tiny-tokenizer.ts";
import { defaultVocabulary } from "../../rollout/vocabulary.ts";
import { hiddenStates, logitsOf } from "./forward.ts";
import { initPolicy } from "./init.ts";
import type { Policy } from "./policy.ts";
import { toyConfig } from "./testing.ts";

export const tokenizer = tinyTokenizer(defaultVocabulary(["what", "is", "the", "star", "of", "?"]));
export const config = toyConfig({ vocabSize: tokenizer.vocabSize, contextTokens: 700, eosIds: [1] });
/** A random policy with logits spread enough that texts differ and tokens are not all alike. */
export const policy = sharpen(initPolicy(config, 3));
export function sharpen(soft: Policy): Policy {
  const trainable = Object.fromEntries(
    Object.entries(soft.trainable).map(([name, arr]) => {
      const factor = name === "model.embed_tokens.weight" ? 6 : 1;
      return [name, { ...arr, data: (arr.data as Float32Array).map((x) => factor * x) }];
    }),
  );
  return { ...soft, trainable };
}

export const params = (change: Partial<SamplingParams> = {}): SamplingParams => ({
  temperature: 1,
  topP: 1,
  topK: 0,
  maxTokens: 12,
  stop: [],
  seed: 1,
  ...change,
});
export const request = (sequence: string, prompt: readonly number[], change: Partial<SamplingParams> = {}) =>
  ({ sequence, prompt, params: params(change) }) satisfies SampleRequest;
export const randomPrompt = (length: number, seed: number) => {
  const random = rng(seed, "prompt");
  return Array.from({ length }, () => 2 + random.int(tokenizer.vocabSize - 2));
};

/** Log-probabilities of tokens[from …] in one pass over the whole sequence, without a cache: the trainer's way. */
async function uncached(
  engine: Engine,
  of: Policy,
  tokens: readonly number[],
  { from, temperature }: { from: number; temperature: number },
) {
  const run = engine.jit(
    "uncached",
    (w: Readonly<Record<string, tf.Tensor>>, ids: tf.Tensor, t: tf.Tensor) => {
      const logits = logitsOf(config, w, hiddenStates(config, w, ids, { lora: of.lora }));
      return { logprobs: tf.logSoftmax(tf.div(logits, t)) };
    },
  );
  const { logprobs } = await run(
    { ...of.frozen, ...of.trainable },
    { shape: [1, tokens.length], dtype: "int32", data: Int32Array.from(tokens) },
    { shape: [], dtype: "float32", data: Float32Array.of(temperature || 1) },
  );
  const row = (i: number) =>
    [...logprobs.data.subarray((i - 1) * config.vocabSize, i * config.vocabSize)] as number[];
  return tokens.slice(from).map((token, i) => ({
    logprob: row(from + i)[token] as number,
    best: row(from + i).indexOf(Math.max(...row(from + i))),
  }));
}

/** How a completion compares with the uncached pass: the worst gap of a logprob, and what greedy would pick. */
export async function compareUncached(
  engine: Engine,
  of: Policy,
  { prompt, params: { temperature } }: SampleRequest,
  done: Completion,
): Promise<{ gap: number; greedy: number[] }> {
  const tokens = [...prompt, ...done.tokens];
  const truth = await uncached(engine, of, tokens, { from: prompt.length, temperature });
  const gaps = truth.map(({ logprob }, i) => Math.abs(logprob - (done.logprobs[i] as number)));
  return { gap: Math.max(...gaps), greedy: truth.map(({ best }) => best) };
}

/** A completion is what the uncached pass says, within rounding; a greedy one token by token. */
export async function agrees(
  engine: Engine,
  of: Policy,
  asked: SampleRequest,
  done: Completion,
): Promise<void> {
  const { gap, greedy } = await compareUncached(engine, of, asked, done);
  assert.ok(gap < 1e-5, `a log-probability is off by ${gap}`);
  if (asked.params.temperature === 0) assert.deepEqual(done.tokens, greedy);
}
