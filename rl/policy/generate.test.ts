import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rng } from "../../core/rng.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import type { Completion, SampleRequest } from "../../rollout/sampler.ts";
import { createSampler, type SamplerOptions } from "./generate.ts";
import { initPolicy } from "./init.ts";
import { initLora } from "./lora.ts";
import type { Policy } from "./policy.ts";
import { agrees, config, policy, randomPrompt, request, sharpen, tokenizer } from "./sampling-toys.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine({ threads: 1, maxSessions: 200 });
});
afterAll(() => engine.dispose());

const sampler = (change: Partial<SamplerOptions> = {}) =>
  createSampler({ engine, policy, tokenizer, ...change });

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
      await agrees(engine, policy, requests[i] as SampleRequest, completion);
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
      await agrees(engine, adapted, requests[i] as SampleRequest, completion);
    const plain = await sampler().sampleBatch(requests);
    expect(plain[0]?.logprobs[0]).not.toBeCloseTo(done[0]?.logprobs[0] as number, 3);
  });

  test("a prompt longer than one prefill call agrees too", async () => {
    const requests = [600, 300, 257, 3].map((n, i) => request(`s${i}`, randomPrompt(n, i), { maxTokens: 3 }));
    const done = await sampler().sampleBatch(requests);
    for (const [i, completion] of done.entries())
      await agrees(engine, policy, requests[i] as SampleRequest, completion);
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
    await agrees(engine, policy, request("s", changed), again as Completion);
    const [shorter] = await one.sampleBatch([request("s", prompt.slice(0, 4))]);
    await agrees(engine, policy, request("s", prompt.slice(0, 4)), shorter as Completion);
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
      await agrees(engine, policy, second[i] as SampleRequest, completion);
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
    await agrees(engine, next, request("s", longer), after as Completion);
    expect(() => one.update({ ...next, config: { ...config, layers: 1 } })).toThrow(/another shape/);
  });

  test("no memory for caches between turns changes nothing but the work", async () => {
    const forgetful = sampler({ keepBytes: 0 });
    const first = await forgetful.sampleBatch(batch);
    const requests = batch.map((r, i) => request(r.sequence, [...r.prompt, ...(first[i]?.tokens ?? []), 6]));
    const done = await forgetful.sampleBatch(requests);
    await agrees(engine, policy, requests[0] as SampleRequest, done[0] as Completion);
  });

  test("an abort ends the batch with its reason, and the sampler goes on working", async () => {
    const one = sampler();
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    await expect(one.sampleBatch(batch, controller.signal)).rejects.toThrow("enough");
    expect(await one.sampleBatch(batch)).toHaveLength(batch.length);
  });
});
