import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DataError } from "../../core/errors.ts";
import { rng } from "../../core/rng.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import type { Completion, SampleRequest, SamplingParams } from "../../rollout/sampler.ts";
import { tinyTokenizer } from "../../rollout/tiny-tokenizer.ts";
import { defaultVocabulary } from "../../rollout/vocabulary.ts";
import { hiddenStates, logitsOf } from "./forward.ts";
import { createSampler, type SamplerOptions } from "./generate.ts";
import { initPolicy } from "./init.ts";
import { initLora } from "./lora.ts";
import type { Policy } from "./policy.ts";
import { toyConfig } from "./testing.ts";

const tokenizer = tinyTokenizer(defaultVocabulary(["what", "is", "the", "star", "of", "?"]));
const config = toyConfig({ vocabSize: tokenizer.vocabSize, contextTokens: 700, eosIds: [1] });
/** A random policy with logits spread enough that texts differ and tokens are not all alike. */
const policy = sharpen(initPolicy(config, 3));
let engine: Engine;

beforeAll(async () => {
  engine = await openEngine({ threads: 1, maxSessions: 200 });
});
afterAll(() => engine.dispose());

function sharpen(soft: Policy): Policy {
  const trainable = Object.fromEntries(
    Object.entries(soft.trainable).map(([name, arr]) => {
      const factor = name === "model.embed_tokens.weight" ? 6 : 1;
      return [name, { ...arr, data: (arr.data as Float32Array).map((x) => factor * x) }];
    }),
  );
  return { ...soft, trainable };
}

const params = (change: Partial<SamplingParams> = {}): SamplingParams => ({
  temperature: 1,
  topP: 1,
  topK: 0,
  maxTokens: 12,
  stop: [],
  seed: 1,
  ...change,
});
const request = (sequence: string, prompt: readonly number[], change: Partial<SamplingParams> = {}) =>
  ({ sequence, prompt, params: params(change) }) satisfies SampleRequest;
const sampler = (change: Partial<SamplerOptions> = {}) =>
  createSampler({ engine, policy, tokenizer, ...change });
const randomPrompt = (length: number, seed: number) => {
  const random = rng(seed, "prompt");
  return Array.from({ length }, () => 2 + random.int(tokenizer.vocabSize - 2));
};

/** Log-probabilities of tokens[from …] in one pass over the whole sequence, without a cache: the trainer's way. */
async function uncached(of: Policy, tokens: readonly number[], from: number, temperature: number) {
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

async function expectAgrees(of: Policy, { prompt, params: p }: SampleRequest, done: Completion) {
  const truth = await uncached(of, [...prompt, ...done.tokens], prompt.length, p.temperature);
  expect(done.logprobs).toHaveLength(done.tokens.length);
  truth.forEach(({ logprob, best }, i) => {
    expect(Math.abs((done.logprobs[i] as number) - logprob)).toBeLessThan(1e-5);
    if (p.temperature === 0) expect(done.tokens[i]).toBe(best);
  });
}

function expectClose(logprobs: readonly number[] | undefined, other: Completion | undefined) {
  const gaps = logprobs?.map((x, t) => Math.abs(x - (other?.logprobs[t] as number)));
  expect(Math.max(0, ...(gaps as number[]))).toBeLessThan(1e-5);
}

describe("sampling with a cache", () => {
  test.each([0, 1, 0.7, 1.3])("agrees with the uncached pass at temperature %d", async (temperature) => {
    const requests = [5, 1, 17, 9, 40].map((length, i) =>
      request(`s${i}`, randomPrompt(length, i), { temperature, seed: i, maxTokens: 20 }),
    );
    const done = await sampler().sampleBatch(requests);
    for (const [i, completion] of done.entries())
      await expectAgrees(policy, requests[i] as SampleRequest, completion);
    expect(new Set(done.map(({ text }) => text)).size).toBeGreaterThan(2);
  });

  test("agrees with the uncached pass under LoRA", async () => {
    const lora = {
      rank: 3,
      alpha: 6,
      rsLora: false,
      targetModules: ["q_proj", "v_proj", "down_proj"],
    } as const;
    const random = rng(5, "b");
    const adapter = Object.fromEntries(
      Object.entries(initLora(config, lora, 1)).map(([name, arr]) => [
        name,
        { ...arr, data: (arr.data as Float32Array).map(() => random() - 0.5) },
      ]),
    );
    const adapted: Policy = { ...policy, frozen: policy.trainable, trainable: adapter, lora };
    const requests = [3, 8].map((n, i) => request(`s${i}`, randomPrompt(n, i), { temperature: 0.7 }));
    const done = await sampler({ policy: adapted }).sampleBatch(requests);
    for (const [i, completion] of done.entries())
      await expectAgrees(adapted, requests[i] as SampleRequest, completion);
    const plain = await sampler().sampleBatch(requests);
    expect(plain[0]?.logprobs[0]).not.toBeCloseTo(done[0]?.logprobs[0] as number, 3);
  });

  test("a prompt longer than one prefill call agrees too", async () => {
    const requests = [600, 300, 257, 3].map((n, i) => request(`s${i}`, randomPrompt(n, i), { maxTokens: 3 }));
    const done = await sampler().sampleBatch(requests);
    for (const [i, completion] of done.entries())
      await expectAgrees(policy, requests[i] as SampleRequest, completion);
  });

  test("several turns that extend each other are what one whole prompt gives", async () => {
    const kept = sampler();
    let prompts = [6, 11, 3].map((n, i) => randomPrompt(n, i));
    for (let turn = 0; turn < 3; turn++) {
      const requests = prompts.map((prompt, i) => request(`s${i}`, prompt, { seed: 10 * turn + i }));
      const extended = await kept.sampleBatch(requests);
      const fresh = await sampler().sampleBatch(requests);
      for (const [i, { tokens, logprobs }] of extended.entries()) {
        expect(tokens).toEqual(fresh[i]?.tokens);
        expectClose(logprobs, fresh[i]);
      }
      prompts = prompts.map((prompt, i) => [
        ...prompt,
        ...(extended[i]?.tokens ?? []),
        ...randomPrompt(4 + 5 * i, 100 * turn + i),
      ]);
    }
  });

  test("a sequence whose past was changed is computed afresh from the first changed token", async () => {
    const one = sampler();
    const prompt = randomPrompt(20, 1);
    const [first] = await one.sampleBatch([request("s", prompt)]);
    const changed = [...prompt.slice(0, 9), 7, ...prompt.slice(10), ...(first?.tokens ?? []), 5, 6];
    const [again] = await one.sampleBatch([request("s", changed)]);
    await expectAgrees(policy, request("s", changed), again as Completion);
    const [shorter] = await one.sampleBatch([request("s", prompt.slice(0, 4))]);
    await expectAgrees(policy, request("s", prompt.slice(0, 4)), shorter as Completion);
  });

  test("members of a group share their prompt and still answer as if alone", async () => {
    const prompts = [randomPrompt(9, 1), randomPrompt(14, 2)];
    const requests = Array.from({ length: 8 }, (_, i) =>
      request(`s${i}`, prompts[i % 2] as number[], { seed: i, temperature: i % 3 === 0 ? 0.7 : 1 }),
    );
    const together = await sampler().sampleBatch(requests);
    for (const [i, one] of requests.entries()) {
      const [alone] = await sampler().sampleBatch([one]);
      expect(together[i]?.tokens).toEqual(alone?.tokens);
      expect(together[i]?.finish).toBe(alone?.finish);
      expectClose(together[i]?.logprobs, alone);
    }
    expect(new Set(together.map(({ text }) => text)).size).toBeGreaterThan(3);
    // Second turn: members that wrote the same text share again, the others must not.
    const second = requests.map((r, i) => ({
      ...request(r.sequence, [...r.prompt, ...(together[i]?.tokens ?? []), 9], { seed: 50 + i }),
    }));
    const shared = sampler();
    await shared.sampleBatch(requests);
    const turned = await shared.sampleBatch(second);
    for (const [i, completion] of turned.entries())
      await expectAgrees(policy, second[i] as SampleRequest, completion);
  });

  test("a batch larger than maxRows is done in parts with the same result", async () => {
    const requests = Array.from({ length: 9 }, (_, i) =>
      request(`s${i}`, randomPrompt(3 + i, i), { seed: i }),
    );
    const whole = await sampler().sampleBatch(requests);
    const parts = await sampler({ maxRows: 2 }).sampleBatch(requests);
    expect(parts.map(({ tokens }) => tokens)).toEqual(whole.map(({ tokens }) => tokens));
  });
});

describe("ends of a turn", () => {
  test("a stop string ends it wherever its tokens are cut, and is part of the text", async () => {
    // A free run long enough to put the stop string across its fifth and sixth word.
    const seeds = Array.from({ length: 12 }, (_, seed) => seed);
    const runs = await sampler().sampleBatch(
      seeds.map((seed) => request(`s${seed}`, randomPrompt(5, 3), { maxTokens: 30, seed })),
    );
    const seed = runs.findIndex(({ text }) => text.split(" ").length > 6);
    const free = runs[seed];
    const words = free?.text.split(" ") as string[];
    const stop = `${words[4]?.slice(-1)} ${words[5]?.slice(0, 1)}`;
    const [stopped] = await sampler().sampleBatch([
      request("s", randomPrompt(5, 3), { maxTokens: 30, seed, stop: ["not there", stop] }),
    ]);
    expect(stopped?.finish).toBe("stop");
    expect(free?.text.startsWith(stopped?.text as string)).toBe(true);
    expect(stopped?.text.includes(stop)).toBe(true);
    expect(tokenizer.decode(stopped?.tokens.slice(0, -1) ?? []).includes(stop)).toBe(false);
  });

  test("the end-of-text token ends it, counted among the tokens, not in the text", async () => {
    const eager: Policy = { ...policy, trainable: { ...policy.trainable, ...alwaysEnd() } };
    const [done] = await sampler({ policy: eager }).sampleBatch([request("s", [5], { temperature: 0 })]);
    expect(done).toMatchObject({ finish: "eos", text: "", tokens: [1], version: 0 });
  });

  test("its own limit, a full context and no room at all are told apart", async () => {
    const small = sampler({ contextTokens: 10 });
    const [limit, context, none, zero] = await small.sampleBatch([
      request("a", randomPrompt(4, 1), { maxTokens: 3 }),
      request("b", randomPrompt(4, 1), { maxTokens: 30 }),
      request("c", randomPrompt(10, 1)),
      request("d", randomPrompt(4, 1), { maxTokens: 0 }),
    ]);
    expect(limit).toMatchObject({ finish: "length", tokens: { length: 3 } });
    expect(context).toMatchObject({ finish: "context", tokens: { length: 6 } });
    expect(none).toMatchObject({ finish: "context", tokens: [], text: "" });
    expect(zero).toMatchObject({ finish: "length", tokens: [] });
    const long = [request("toolong", randomPrompt(11, 1))];
    await expect(small.sampleBatch(long)).rejects.toThrow(DataError);
    await expect(small.sampleBatch(long)).rejects.toThrow(/toolong: the prompt is longer/);
    await expect(small.sampleBatch([request("e", [])])).rejects.toThrow(/at least one prompt token/);
    await expect(small.sampleBatch([request("f", [4, 9999])])).rejects.toThrow(/outside the policy/);
  });

  test("rows that end at different times leave the others right", async () => {
    const requests = Array.from({ length: 21 }, (_, i) =>
      request(`s${i}`, randomPrompt(1 + (i % 5) * 7, i), { seed: i, maxTokens: 1 + ((7 * i) % 23) }),
    );
    const done = await sampler().sampleBatch(requests);
    for (const [i, completion] of done.entries())
      await expectAgrees(policy, requests[i] as SampleRequest, completion);
  });
});

describe("seeds, versions and housekeeping", () => {
  const batch = Array.from({ length: 10 }, (_, i) =>
    request(`s${i}`, randomPrompt(4 + (i % 3), i % 4), { seed: i, maxTokens: 25 }),
  );

  test("the same batch twice gives the same bits, whatever ran before", async () => {
    const one = sampler();
    const first = await one.sampleBatch(batch);
    for (const { sequence } of batch) one.release(sequence);
    await one.sampleBatch([request("other", randomPrompt(90, 9), { maxTokens: 40 })]);
    expect(await one.sampleBatch(batch)).toEqual(first);
    expect(await sampler().sampleBatch(batch)).toEqual(first);
  });

  test("another seed gives another text, the same seed the same", async () => {
    const prompt = randomPrompt(6, 2);
    const [a, b, c] = await sampler().sampleBatch([
      request("a", prompt, { seed: 4 }),
      request("b", prompt, { seed: 5 }),
      request("c", prompt, { seed: 4 }),
    ]);
    expect(a?.tokens).toEqual(c?.tokens);
    expect(a?.tokens).not.toEqual(b?.tokens);
  });

  test("two batches at once run one after the other", async () => {
    const one = sampler();
    const [first, second] = await Promise.all([one.sampleBatch(batch), one.sampleBatch(batch)]);
    expect(second.map(({ tokens }) => tokens)).toEqual(first.map(({ tokens }) => tokens));
  });

  test("an update is a new version with nothing of the old one cached", async () => {
    const one = sampler();
    const prompt = randomPrompt(12, 5);
    const [before] = await one.sampleBatch([request("s", prompt)]);
    const next: Policy = { ...sharpen(initPolicy(config, 8)), version: 1 };
    one.update(next);
    const longer = [...prompt, ...(before?.tokens ?? []), 5];
    const [after] = await one.sampleBatch([request("s", longer)]);
    expect(after?.version).toBe(1);
    await expectAgrees(next, request("s", longer), after as Completion);
    expect(() => one.update({ ...next, config: { ...config, layers: 1 } })).toThrow(/another shape/);
  });

  test("no memory for caches between turns changes nothing but the work", async () => {
    const forgetful = sampler({ keepBytes: 0 });
    const first = await forgetful.sampleBatch(batch);
    const requests = batch.map((r, i) => request(r.sequence, [...r.prompt, ...(first[i]?.tokens ?? []), 6]));
    const done = await forgetful.sampleBatch(requests);
    await expectAgrees(policy, requests[0] as SampleRequest, done[0] as Completion);
  });

  test("an abort ends the batch with its reason, and the sampler goes on working", async () => {
    const one = sampler();
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    await expect(one.sampleBatch(batch, controller.signal)).rejects.toThrow("enough");
    expect(await one.sampleBatch(batch)).toHaveLength(batch.length);
  });
});

/** Final norm and embeddings that make the end of text certain after any token. */
function alwaysEnd(): Policy["trainable"] {
  const { hiddenSize: d, vocabSize } = config;
  const embeddings = new Float32Array(vocabSize * d).fill(0.5);
  embeddings.fill(1, d, 2 * d);
  return {
    "model.embed_tokens.weight": { shape: [vocabSize, d], dtype: "float32", data: embeddings },
    "model.norm.weight": { shape: [d], dtype: "float32", data: new Float32Array(d).fill(1) },
    ...Object.fromEntries(
      Object.entries(policy.trainable)
        .filter(([name]) => /(o_proj|down_proj)\.weight$/.test(name))
        .map(([name, arr]) => [name, { ...arr, data: new Float32Array(arr.data.length) }]),
    ),
  };
}
