import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rng } from "../../core/rng.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import type { ContinuousCompletion, ContinuousRequest } from "./continuous-request.ts";
import { adapted, ask, continuous, lora, versions } from "./continuous-toys.ts";
import { createSampler, type PolicySampler } from "./generate.ts";
import type { Policy } from "./policy.ts";
import type { PolicyVersion } from "./policy-version.ts";
import { policy, randomPrompt, tokenizer } from "./sampling-toys.ts";

let engine: Engine;
let version: ReturnType<typeof versions>;

beforeAll(async () => {
  engine = await openEngine({ threads: 1, maxSessions: 400 });
  version = versions(engine);
});
afterAll(() => engine.dispose());

const samplers = new Map<Policy, PolicySampler>();

/** What the batch sampler gives for the request alone, with nothing kept from others. */
async function alone(of: Policy, { prompt, params }: ContinuousRequest) {
  const sampler = samplers.get(of) ?? createSampler({ engine, policy: of, tokenizer, keepBytes: 0 });
  samplers.set(of, sampler);
  const [done] = await sampler.sampleBatch([{ sequence: "s", prompt, params }]);
  return done;
}

async function expectAsAlone(of: Policy, request: ContinuousRequest, done: ContinuousCompletion | undefined) {
  const truth = await alone(of, request);
  expect(done?.tokens.map(({ id }) => id)).toEqual(truth?.tokens);
  expect(done?.finish).toBe(truth?.finish);
  const gaps = done?.tokens.map(({ logprob }, i) => Math.abs(logprob - (truth?.logprobs[i] as number)));
  expect(Math.max(0, ...(gaps as number[]))).toBeLessThan(1e-5);
}

/** Requests of many lengths and temperatures. */
const requestOf = (i: number, onToken?: ContinuousRequest["onToken"]): ContinuousRequest =>
  ask(
    randomPrompt(1 + ((i * 37) % 290), i),
    {
      ...{ seed: i, temperature: [1, 0, 0.7][i % 3] as number },
      ...{ topK: i % 5 === 0 ? 8 : 0, topP: i % 7 === 0 ? 0.9 : 1, maxTokens: 3 + (i % 20) },
    },
    onToken,
  );

describe("continuous batching gives what a request alone gets", () => {
  test("one request at a time", async () => {
    const sampler = continuous(engine);
    const toy = version(policy);
    for (const i of [0, 1, 2, 7, 10]) {
      const request = requestOf(i);
      await expectAsAlone(policy, request, await sampler.generate(toy, request));
    }
    await sampler.close();
  });

  test("while twenty others join and leave at odd moments", async () => {
    const sampler = continuous(engine, { maxRows: 9, prefillTokens: 64 });
    const toy = version(policy);
    const random = rng(1, "joins");
    const done = new Map<number, Promise<ContinuousCompletion>>();
    let next = 0;
    const join = () => {
      const i = next++;
      if (i > 20) return;
      // Each token of a request may bring another one.
      const request = requestOf(i, () => {
        if (random() < 0.3) join();
      });
      done.set(i, sampler.generate(toy, request));
    };
    join();
    join();
    while (done.size <= 20) {
      await Promise.race(done.values());
      join();
    }
    for (const [i, completion] of done) await expectAsAlone(policy, requestOf(i), await completion);
    expect(sampler.load()).toMatchObject({ running: 0, waiting: 0, kvCacheUsage: 0, requests: 21 });
    await sampler.close();
  });

  test("requests of several versions in one go never leak into each other", async () => {
    const other = { ...lora, rank: 5, alpha: 5, rsLora: true };
    const policies = [policy, adapted(1), adapted(2), adapted(3, other)];
    const served = policies.map((each) => version(each));
    const sampler = continuous(engine);
    const requests = Array.from({ length: 16 }, (_, i) =>
      // The same prompt under every version: nothing of it may be shared.
      ask(randomPrompt(20 + 3 * (i >> 2), i >> 2), { seed: i >> 2, maxTokens: 8, temperature: 1 }),
    );
    for (let round = 0; round < 2; round++) {
      const done = await Promise.all(
        requests.map((request, i) => sampler.generate(served[i % 4] as PolicyVersion, request)),
      );
      for (const [i, completion] of done.entries())
        await expectAsAlone(policies[i % 4] as Policy, requests[i] as ContinuousRequest, completion);
      const [base, first] = done;
      expect(base?.tokens[0]?.logprob).not.toBeCloseTo(first?.tokens[0]?.logprob as number, 3);
    }
    await sampler.close();
  });

  test("equal requests share their passes and still draw by their own seeds", async () => {
    const sampler = continuous(engine);
    const toy = version(policy);
    const prompt = randomPrompt(50, 3);
    const requests = Array.from({ length: 8 }, (_, i) =>
      ask(prompt, { seed: i % 4, temperature: i < 4 ? 1 : 0.7, maxTokens: 10 }),
    );
    const runs = engine.stats.runs;
    const done = await Promise.all(requests.map((request) => sampler.generate(toy, request)));
    // Two texts to compute (a temperature each, the second copied from the first), then ten tokens of all.
    expect(engine.stats.runs - runs).toBeLessThanOrEqual(2 + 10);
    for (const [i, completion] of done.entries())
      await expectAsAlone(policy, requests[i] as ContinuousRequest, completion);
    await sampler.close();
  });
});

describe("kept keys and values", () => {
  test("a prompt that extends an earlier text pays for the new tokens only", async () => {
    const sampler = continuous(engine);
    const toy = version(policy);
    let prompt = randomPrompt(40, 1);
    for (let turn = 0; turn < 3; turn++) {
      const before = sampler.load();
      const request = ask(prompt, { seed: turn, maxTokens: 6, ignoreEos: true });
      const done = await sampler.generate(toy, request);
      expect(done.tokens).toHaveLength(6);
      const truth = await sampler.generate(version(policy), request);
      expect(done.tokens.map(({ id }) => id)).toEqual(truth.tokens.map(({ id }) => id));
      // All but the last sampled token, whose keys and values were never computed, and then the new ones.
      const { cachedTokens } = sampler.load();
      expect(cachedTokens - before.cachedTokens).toBe(turn === 0 ? 0 : prompt.length - 5);
      prompt = [...prompt, ...done.tokens.map(({ id }) => id), ...randomPrompt(4, 50 + turn)];
    }
    await sampler.close();
  });

  test("are never those of another version, whatever its name", async () => {
    const sampler = continuous(engine);
    const [one, two] = [version(adapted(1), "v"), version(adapted(2), "v")];
    const prompt = randomPrompt(60, 2);
    await sampler.generate(one, ask(prompt));
    const { cachedTokens } = sampler.load();
    const done = await sampler.generate(two, ask(prompt));
    await expectAsAlone(adapted(2), ask(prompt), done);
    expect(sampler.load().cachedTokens).toBe(cachedTokens);
    await sampler.close();
  });

  test("go when the version retires, also those of requests that end after it", async () => {
    const sampler = continuous(engine);
    const toy = version(policy);
    const prompt = randomPrompt(60, 2);
    await sampler.generate(toy, ask(prompt));
    let tell = () => {};
    const under = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const running = sampler.generate(toy, ask(randomPrompt(30, 4), { maxTokens: 8 }, tell));
    await under;
    sampler.retire(toy);
    await expectAsAlone(policy, ask(randomPrompt(30, 4), { maxTokens: 8 }), await running);
    const { cachedTokens } = sampler.load();
    await sampler.generate(toy, ask(prompt));
    await sampler.generate(toy, ask(randomPrompt(30, 4)));
    expect(sampler.load().cachedTokens).toBe(cachedTokens);
    await sampler.close();
  });

  test("a live text is a source too", async () => {
    const sampler = continuous(engine, { keepBytes: 0 });
    const toy = version(policy);
    const prompt = randomPrompt(80, 5);
    let second: Promise<ContinuousCompletion> | undefined;
    const longer = ask([...prompt, 9, 8, 7], { seed: 3 });
    await sampler.generate(
      toy,
      ask(prompt, { maxTokens: 12, ignoreEos: true }, () => {
        second ??= sampler.generate(toy, longer);
      }),
    );
    await expectAsAlone(policy, longer, await second);
    expect(sampler.load().cachedTokens).toBeGreaterThanOrEqual(80);
    await sampler.close();
  });
});
