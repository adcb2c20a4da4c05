import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DataError } from "../../core/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import type { SampleRequest } from "../../rollout/sampler.ts";
import { createSampler, type SamplerOptions } from "./generate.ts";
import type { Policy } from "./policy.ts";
import { agrees, config, policy, randomPrompt, request, tokenizer } from "./sampling-toys.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine({ threads: 1, maxSessions: 200 });
});
afterAll(() => engine.dispose());

const sampler = (change: Partial<SamplerOptions> = {}) =>
  createSampler({ engine, policy, tokenizer, ...change });

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
      await agrees(engine, policy, requests[i] as SampleRequest, completion);
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
