import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DataError, SamplerError } from "../../core/errors.ts";
import type { Arr } from "../../engine/array.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import type { ContinuousCompletion, DrawnToken } from "./continuous-request.ts";
import { adapted, ask, continuous, versions } from "./continuous-toys.ts";
import type { PolicyVersion } from "./policy-version.ts";
import { config, policy, randomPrompt, tokenizer } from "./sampling-toys.ts";

let engine: Engine;
let version: ReturnType<typeof versions>;
let toy: PolicyVersion;

beforeAll(async () => {
  engine = await openEngine({ threads: 1, maxSessions: 400 });
  version = versions(engine);
  toy = version(policy);
});
afterAll(() => engine.dispose());

const ids = (done: ContinuousCompletion | undefined) => done?.tokens.map(({ id }) => id) ?? [];
const prompt = randomPrompt(5, 3);

/** A promise with its levers outside. */
function signalled() {
  let tell = () => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { told, tell };
}

describe("ends", () => {
  test("a stop string across tokens is named, the one that ends first of several", async () => {
    const sampler = continuous(engine);
    const free = await sampler.generate(toy, ask(prompt, { maxTokens: 30, seed: 2, ignoreEos: true }));
    const words = tokenizer.decode(ids(free)).split(" ");
    expect(words.length).toBeGreaterThan(6);
    const stop = `${words[4]?.slice(-1)} ${words[5]?.slice(0, 1)}`;
    const later = words.slice(3, 7).join(" ");
    const params = { maxTokens: 30, seed: 2, ignoreEos: true, stop: ["not there", later, stop] };
    const done = await sampler.generate(toy, ask(prompt, params));
    expect(done).toMatchObject({ finish: "stop", stopReason: stop });
    expect(tokenizer.decode(ids(done))).toContain(stop);
    expect(tokenizer.decode(ids(done).slice(0, -1))).not.toContain(stop);
    // Within the tokens that must come it does not end the text; nor does the same place afterwards.
    const minTokens = done.tokens.length + 1;
    const more = await sampler.generate(
      toy,
      ask(prompt, { ...params, stop: [stop, "x".repeat(40)], minTokens }),
    );
    expect(more.tokens.length).toBeGreaterThan(done.tokens.length);
    expect(ids(more)).toEqual(ids(free).slice(0, more.tokens.length));
    if (more.finish === "stop") expect(more.tokens.length).toBeGreaterThan(minTokens);
    await sampler.close();
  });

  test("a stop token id is the last token and the reason", async () => {
    const sampler = continuous(engine);
    const free = await sampler.generate(toy, ask(prompt, { maxTokens: 12, seed: 4, ignoreEos: true }));
    const last = ids(free)[6] as number;
    const done = await sampler.generate(
      toy,
      ask(prompt, { maxTokens: 12, seed: 4, ignoreEos: true, stopTokenIds: [last] }),
    );
    expect(done).toMatchObject({ finish: "stop", stopReason: last });
    expect(ids(done)).toEqual(ids(free).slice(0, ids(free).indexOf(last) + 1));
    await sampler.close();
  });

  test("the end-of-text token ends it, unless it is ignored or the text must be longer", async () => {
    const eager = version({ ...policy, trainable: { ...policy.trainable, ...alwaysEnd() } });
    const sampler = continuous(engine);
    const greedy = { temperature: 0, maxTokens: 4 };
    const [ended, ignored, longer, never] = await Promise.all([
      sampler.generate(eager, ask([5], greedy)),
      sampler.generate(eager, ask([5], { ...greedy, ignoreEos: true })),
      sampler.generate(eager, ask([5], { ...greedy, minTokens: 2 })),
      sampler.generate(eager, ask([5], { ...greedy, minTokens: 9, stopTokenIds: [7] })),
    ]);
    expect(ended).toMatchObject({ finish: "eos", tokens: [{ id: 1 }] });
    expect(ended).not.toHaveProperty("stopReason");
    expect(ids(ignored)).toEqual([1, 1, 1, 1]);
    expect(ignored?.finish).toBe("length");
    expect(longer?.finish).toBe("eos");
    expect(ids(longer).at(-1)).toBe(1);
    expect(ids(longer).slice(0, -1)).not.toContain(1);
    expect(longer?.tokens).toHaveLength(3);
    expect(ids(never)).toHaveLength(4);
    expect(ids(never).some((id) => id === 1 || id === 7)).toBe(false);
    await sampler.close();
  });

  test("limit, context and no room are told apart; a prompt that cannot be is refused alone", async () => {
    const sampler = continuous(engine, { contextTokens: 10 });
    const good = [
      sampler.generate(toy, ask(randomPrompt(4, 1), { maxTokens: 3, ignoreEos: true })),
      sampler.generate(toy, ask(randomPrompt(4, 1), { maxTokens: 30, ignoreEos: true })),
      sampler.generate(toy, ask(randomPrompt(10, 1))),
      sampler.generate(toy, ask(randomPrompt(4, 1), { maxTokens: 0 })),
    ];
    for (const bad of [[], [4, 9999], [4, -1], [1.5], randomPrompt(11, 1)])
      await expect(sampler.generate(toy, ask(bad))).rejects.toThrow(DataError);
    expect((await Promise.all(good)).map(({ finish, tokens }) => [finish, tokens.length])).toEqual([
      ["length", 3],
      ["context", 6],
      ["context", 0],
      ["length", 0],
    ]);
    await sampler.close();
  });
});

describe("what is told of each token", () => {
  test("comes in order, as drawn, with the likeliest beside it", async () => {
    const sampler = continuous(engine);
    const told: DrawnToken[] = [];
    const params = { maxTokens: 9, temperature: 0.7, topLogprobs: 4, ignoreEos: true };
    const done = await sampler.generate(
      toy,
      ask(prompt, params, (token) => told.push(token)),
    );
    expect(told).toEqual(done.tokens);
    for (const { id, logprob, top } of done.tokens) {
      expect(top).toHaveLength(4);
      const logprobs = top.map((each) => each.logprob);
      expect(logprobs).toEqual([...logprobs].sort((a, b) => b - a));
      expect(logprobs.reduce((sum, x) => sum + Math.exp(x), 0)).toBeLessThanOrEqual(1 + 1e-6);
      const own = top.find((each) => each.id === id);
      if (own) expect(own.logprob).toBe(logprob);
      else expect(logprob).toBeLessThanOrEqual(logprobs[3] as number);
    }
    const all = await sampler.generate(toy, ask(prompt, { ...params, maxTokens: 1, topLogprobs: 5000 }));
    const mass = all.tokens[0]?.top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
    expect(mass).toBeCloseTo(1, 5);
    await sampler.close();
  });

  test("a listener that throws fails its request alone", async () => {
    const sampler = continuous(engine);
    const other = sampler.generate(toy, ask(prompt, { maxTokens: 6, ignoreEos: true }));
    const bad = sampler.generate(
      toy,
      ask(prompt, { maxTokens: 6 }, () => {
        throw new Error("gone");
      }),
    );
    await expect(bad).rejects.toThrow("gone");
    expect((await other).tokens).toHaveLength(6);
    await sampler.close();
  });
});

describe("places", () => {
  test("an abort ends a request at once, under way or waiting, and frees its place", async () => {
    const sampler = continuous(engine, { maxRows: 1 });
    const started = signalled();
    const [first, second] = [new AbortController(), new AbortController()];
    const long = ask(prompt, { maxTokens: 600, ignoreEos: true }, started.tell);
    const running = sampler.generate(toy, long, first.signal);
    const waiting = sampler.generate(toy, ask(randomPrompt(6, 1)), second.signal);
    const last = sampler.generate(toy, ask(randomPrompt(7, 1), { maxTokens: 3, ignoreEos: true }));
    await started.told;
    expect(sampler.load()).toMatchObject({ running: 1, waiting: 2 });
    expect(sampler.load().kvCacheUsage).toBeGreaterThan(0);
    second.abort(new Error("left the queue"));
    await expect(waiting).rejects.toThrow("left the queue");
    expect(sampler.load()).toMatchObject({ running: 1, waiting: 1 });
    first.abort(new Error("hung up"));
    await expect(running).rejects.toThrow("hung up");
    expect((await last).tokens).toHaveLength(3);
    expect(sampler.load()).toMatchObject({ running: 0, waiting: 0, requests: 1 });
    const gone = AbortSignal.abort(new Error("never"));
    await expect(sampler.generate(toy, ask(prompt), gone)).rejects.toThrow("never");
    await sampler.close();
  });

  test("requests beyond maxRows wait and are taken in the order they came", async () => {
    const sampler = continuous(engine, { maxRows: 2 });
    const order: number[] = [];
    const seen: number[] = [];
    const served = [toy, version(adapted(1))];
    await Promise.all(
      Array.from({ length: 9 }, (_, i) =>
        sampler.generate(
          served[i % 2] as PolicyVersion,
          ask(randomPrompt(3 + i, i), { seed: i, maxTokens: 1 + (i % 4), ignoreEos: true }, () => {
            if (!order.includes(i)) order.push(i);
            seen.push(sampler.load().running);
          }),
        ),
      ),
    );
    expect(order.map((i) => i >> 1)).toEqual([...order.map((i) => i >> 1)].sort((a, b) => a - b));
    expect(Math.max(...seen)).toBe(2);
    await sampler.close();
  });

  test("without memory for all the newest go back to the queue, and every answer is as with enough", async () => {
    const requests = Array.from({ length: 6 }, (_, i) =>
      ask(randomPrompt(20 + i, i), { seed: i, maxTokens: 120, ignoreEos: true }),
    );
    const rich = continuous(engine);
    const truth = await Promise.all(requests.map((request) => rich.generate(toy, request)));
    expect(rich.load().preemptions).toBe(0);
    await rich.close();
    // Four rows fit while they are short, fewer as they grow.
    const perPosition = 4 * 2 * config.layers * config.kvHeads * config.headDim;
    for (const keepBytes of [0, 2 ** 30]) {
      const poor = continuous(engine, { kvBytes: 4 * 128 * perPosition, keepBytes });
      let most = 0;
      const told = requests.map((request) => ({
        ...request,
        onToken: () => {
          most = Math.max(most, poor.load().kvCacheUsage);
        },
      }));
      const done = await Promise.all(told.map((request) => poor.generate(toy, request)));
      expect(done.map(ids)).toEqual(truth.map(ids));
      expect(poor.load().preemptions).toBeGreaterThan(0);
      expect(most).toBeLessThan(1);
      await poor.close();
    }
    const least = continuous(engine, { kvBytes: 0 });
    expect(ids(await least.generate(toy, requests[0] as (typeof requests)[0]))).toEqual(ids(truth[0]));
    await least.close();
  });

  test("weights that give no numbers fail their own requests alone", async () => {
    const weights = Object.fromEntries(
      Object.entries(toy.weights).map(([name, arr]): [string, Arr] => [
        name,
        name === "model.norm.weight"
          ? { ...arr, data: new Float32Array(arr.data.length).fill(Number.NaN) }
          : arr,
      ]),
    );
    const sampler = continuous(engine);
    const sick = sampler.generate({ ...toy, name: "sick", weights }, ask(prompt));
    const none = sampler.generate({ ...toy, name: "none", weights: {} }, ask(prompt));
    const well = sampler.generate(toy, ask(prompt, { maxTokens: 4, ignoreEos: true }));
    await expect(sick).rejects.toThrow(SamplerError);
    await expect(none).rejects.toThrow(/was not given/);
    expect((await well).tokens).toHaveLength(4);
    await sampler.close();
  });

  test("closing ends everything and takes nothing more", async () => {
    const sampler = continuous(engine, { maxRows: 1 });
    const started = signalled();
    const running = sampler.generate(toy, ask(prompt, { maxTokens: 600, ignoreEos: true }, started.tell));
    const waiting = sampler.generate(toy, ask(prompt));
    const ends = Promise.all([
      expect(running).rejects.toThrow(/closed/),
      expect(waiting).rejects.toThrow(/closed/),
    ]);
    await started.told;
    await sampler.close();
    await ends;
    await expect(sampler.generate(toy, ask(prompt))).rejects.toThrow(/closed/);
  });
});

/** Final norm and embeddings that make the end of text certain after any token. */
function alwaysEnd() {
  const { hiddenSize: d, vocabSize } = config;
  const embeddings = new Float32Array(vocabSize * d).fill(0.5);
  embeddings.fill(1, d, 2 * d);
  const zeroed = Object.entries(policy.trainable)
    .filter(([name]) => /(o_proj|down_proj)\.weight$/.test(name))
    .map(([name, arr]): [string, Arr] => [name, { ...arr, data: new Float32Array(arr.data.length) }]);
  return {
    ...Object.fromEntries(zeroed),
    "model.embed_tokens.weight": { shape: [vocabSize, d], dtype: "float32", data: embeddings } as const,
    "model.norm.weight": { shape: [d], dtype: "float32", data: new Float32Array(d).fill(1) } as const,
  };
}
