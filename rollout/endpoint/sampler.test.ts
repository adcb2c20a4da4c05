import { afterEach, expect, test } from "vitest";
import { byteTokenizer } from "../testing.ts";
import { endpointConfig } from "./config.ts";
import type { Driver, Generation } from "./driver.ts";
import { EndpointError } from "./error.ts";
import { createEndpoint, type EndpointOptions } from "./sampler.ts";
import { toyFleet } from "./toy-fleet.ts";
import { toyComplete } from "./toy-language.ts";
import { type Fault, type ToyOptions, type ToyServer, toyServer } from "./toy-server.ts";
import { vllm } from "./vllm.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const tokenizer = byteTokenizer();
const served = { model: "base", version: 3 };

async function setup(
  servers: readonly ToyOptions[],
  o: Partial<EndpointOptions["config"]> = {},
  driver?: Driver,
) {
  const toys: ToyServer[] = [];
  for (const each of servers) toys.push(await toyServer(each));
  closing.push(...toys.map(({ close }) => close));
  const fake = toyFleet(
    toys.map(({ url }) => url),
    driver,
  );
  closing.push(fake.fleet.close);
  const config = { ...endpointConfig.parse({ servers: ["http://h"], retryDelayMs: 0 }), ...o };
  const endpoint = createEndpoint({ fleet: fake.fleet, tokenizer, contextTokens: 64, config });
  return { toys, endpoint, sampler: endpoint.sampler(served), ...fake };
}

const ask = (
  o: { seed?: number; maxTokens?: number; stop?: string[]; prompt?: number[]; sequence?: string } = {},
) => {
  const { seed = 5, maxTokens = 8, stop = [], prompt = [97, 98], sequence = "s" } = o;
  return { sequence, prompt, params: { temperature: 1, topP: 1, topK: 0, maxTokens, stop, seed } };
};
const truth = (o: Parameters<typeof ask>[0] = {}) => {
  const { params, prompt } = ask(o);
  return toyComplete({ model: "base", prompt, ...params });
};

test("a completion has the server's ids and logprobs, our text, and the version that was published", async () => {
  const { sampler, endpoint, placements, released } = await setup([{}]);
  expect(sampler.contextTokens).toBe(64);
  const { tokens, logprobs } = truth();
  const completion = await sampler.sample({ ...ask(), group: "g" });
  expect(completion).toEqual({
    tokens,
    logprobs,
    text: tokenizer.decode(tokens),
    finish: "length",
    version: 3,
  });
  expect(placements).toEqual([{ model: "base", group: "g", sequence: "s", avoid: new Set() }]);
  await sampler.sample(ask());
  expect(placements[1]?.group).toBe("s");
  sampler.release("s");
  expect(released).toEqual(["s"]);
  expect(endpoint.counters()).toMatchObject({
    requests: 2,
    failed: 0,
    promptTokens: 4,
    completionTokens: 16,
  });
});

test("the end-of-text id is among the tokens and not in the text", async () => {
  const { sampler } = await setup([{}]);
  let seed = 1;
  while (truth({ seed, maxTokens: 40 }).finish !== "stop") seed++;
  const { tokens, text, finish } = await sampler.sample(ask({ seed, maxTokens: 40 }));
  expect(finish).toBe("eos");
  expect(tokens.at(-1)).toBe(256);
  expect(text).toBe(tokenizer.decode(tokens.slice(0, -1)));
});

const failures: readonly Fault[] = [
  "reset",
  "half",
  { status: 500, body: { error: { message: "boom" } } },
  { status: 503, body: "busy" },
  { status: 404, body: { error: { message: "The model `base` does not exist.", param: "model" } } },
  (reply) => ({ ...reply, model: "run-v0" }),
  (reply) => {
    const [choice] = reply.choices as { token_ids: number[] }[];
    choice?.token_ids.pop();
    return reply;
  },
  (reply) => {
    const [choice] = reply.choices as { logprobs: { token_logprobs: (number | null)[] } }[];
    (choice as { logprobs: { token_logprobs: (number | null)[] } }).logprobs.token_logprobs[0] = null;
    return reply;
  },
];

test("with 25 % of requests failing, in every way there is, the tokens are those without failures", async () => {
  const fault = (n: number) => (n % 4 === 1 ? failures[((n - 1) / 4) % failures.length] : undefined);
  const { sampler, endpoint, toys } = await setup([{ fault }]);
  const seeds = Array.from({ length: 96 }, (_, i) => i);
  const said = await Promise.all(
    seeds.map(async (seed) => (await sampler.sample(ask({ seed, sequence: `${seed}` }))).tokens),
  );
  expect(said).toEqual(seeds.map((seed) => truth({ seed }).tokens));
  const { requests, failed, retried } = endpoint.counters();
  expect({ requests, failed }).toEqual({ requests: 96, failed: 0 });
  const again = Object.values(retried).reduce((a, b) => a + b, 0);
  expect(toys[0]?.requests.length).toBe(96 + again);
  expect(again).toBe(32);
  expect(retried).toMatchObject({ connection: 8, server: 4, overloaded: 4, missingModel: 4, malformed: 12 });
});

test("a retry goes to another server, with the same prompt and seed", async () => {
  const { sampler, toys, placements } = await setup([{ fault: () => "reset" }, {}]);
  await sampler.sample(ask());
  expect(placements.map(({ avoid }) => [...(avoid ?? [])])).toEqual([[], [toys[0]?.url]]);
  expect(toys[1]?.requests).toEqual(toys[0]?.requests);
});

test("a request that never succeeds fails with its last error, after `attempts`", async () => {
  const { sampler, endpoint, toys } = await setup([{ fault: () => ({ status: 500, body: "boom" }) }], {
    attempts: 3,
  });
  const failure = sampler.sample(ask());
  await expect(failure).rejects.toMatchObject({ kind: "server", status: 500 });
  await expect(failure).rejects.toThrow(/boom/u);
  await expect(failure).rejects.toThrow(/attempt 3 of 3/u);
  expect(toys[0]?.requests.length).toBe(3);
  expect(endpoint.counters()).toMatchObject({
    requests: 1,
    failed: 1,
    retried: { server: 2 },
    completionTokens: 0,
  });
});

test("what can never succeed is not tried again", async () => {
  const { sampler, endpoint, toys } = await setup([{ fault: () => ({ status: 400, body: "no" }) }]);
  await expect(sampler.sample(ask())).rejects.toMatchObject({ kind: "refused" });
  expect(toys[0]?.requests.length).toBe(1);
  expect(endpoint.counters()).toMatchObject({ failed: 1 });
});

test("all requests together retry no more than their budget", async () => {
  const { sampler, toys } = await setup([{ fault: () => "reset" }], { attempts: 6, retryShare: 0.5 });
  for (let i = 0; i < 20; i++)
    await expect(sampler.sample(ask())).rejects.toMatchObject({ kind: "connection" });
  // 10 at first and a half for each of 20.
  expect(toys[0]?.requests.length).toBe(20 + 20);
  await expect(sampler.sample(ask())).rejects.toThrow(/retry budget/u);
});

test("an attempt that hangs is given up at its deadline and made elsewhere", async () => {
  const { sampler, endpoint, toys, ends } = await setup([{ fault: () => "hang" }, {}], {
    requestTimeoutMs: 250,
  });
  expect((await sampler.sample(ask())).tokens).toEqual(truth().tokens);
  expect(endpoint.counters()).toMatchObject({ timeouts: 1, failed: 0, retried: { timeout: 1 } });
  expect(ends).toMatchObject([{ kind: "timeout" }]);
  await expect.poll(() => toys[0]?.dropped()).toBe(1);
});

test("a turn ends at its deadline, whatever attempt it is in", async () => {
  const { sampler, endpoint } = await setup([{ fault: () => "hang" }], {
    requestTimeoutMs: 20,
    turnTimeoutMs: 70,
  });
  const failure = sampler.sample(ask());
  await expect(failure).rejects.toMatchObject({ kind: "timeout" });
  await expect(failure).rejects.toThrow(/sequence s: the turn had no end within 70 ms/u);
  expect(endpoint.counters().failed).toBe(1);
});

test("the deadline of a turn also ends a pause", async () => {
  const { sampler } = await setup([{ fault: () => "reset" }], { turnTimeoutMs: 40, retryDelayMs: 60_000 });
  await expect(sampler.sample(ask())).rejects.toMatchObject({ kind: "timeout" });
});

test("an episode that is over ends its request with its own reason, and counts as no failure", async () => {
  let came = () => {};
  const arrived = new Promise<void>((resolve) => {
    came = resolve;
  });
  const fault = () => {
    came();
    return "hang" as const;
  };
  const { sampler, endpoint, toys } = await setup([{ fault }]);
  const controller = new AbortController();
  const failure = sampler.sample(ask(), controller.signal);
  await arrived;
  controller.abort("episode over");
  await expect(failure).rejects.toBe("episode over");
  await expect(sampler.sample(ask(), controller.signal)).rejects.toBe("episode over");
  expect(endpoint.counters()).toMatchObject({ requests: 1, failed: 0, timeouts: 0 });
  await expect.poll(() => toys[0]?.dropped()).toBe(1);
});

test("a server that clips to its context ends the turn as full, and is counted; a whole turn is not", async () => {
  const { sampler, endpoint } = await setup([{ contextTokens: 10 }]);
  const prompt = [97, 98, 97, 98, 97, 98];
  const clipped = await sampler.sample(ask({ prompt, seed: 3 }));
  expect(clipped).toMatchObject({
    finish: "context",
    tokens: truth({ prompt, maxTokens: 4, seed: 3 }).tokens,
  });
  expect((await sampler.sample(ask({ prompt, maxTokens: 4, seed: 3 }))).finish).toBe("length");
  expect(endpoint.counters().clipped).toBe(1);
});

test("a token outside the vocabulary is a reply of another model", async () => {
  const generate = async (): Promise<Generation> => ({ tokens: [999], logprobs: [-1], finish: "length" });
  const { sampler } = await setup([{}], { attempts: 2 }, { ...vllm, generate });
  await expect(sampler.sample(ask())).rejects.toMatchObject({ kind: "malformed" });
});

test("hurry takes requests back once, to be made elsewhere, and costs no attempt", async () => {
  const arrivals: (() => void)[] = [];
  const arrived = () => new Promise<void>((resolve) => arrivals.push(resolve));
  const hang = () => {
    arrivals.shift()?.();
    return "hang" as const;
  };
  const { sampler, endpoint, ends } = await setup([{ fault: hang }, {}], { attempts: 1 });
  const came = arrived();
  const completion = sampler.sample(ask());
  await came;
  expect(endpoint.hurry()).toBe(1);
  expect((await completion).tokens).toEqual(truth().tokens);
  expect(endpoint.counters()).toMatchObject({ failed: 0, timeouts: 0, retried: { hurried: 1 } });
  // What a fleet sees says nothing about the server.
  expect(ends.every((error) => !(error instanceof EndpointError))).toBe(true);
  expect(endpoint.hurry()).toBe(0);
});

test("hurry leaves a request alone that has been hurried before, or has nowhere else to go", async () => {
  let count = 0;
  let both = () => {};
  const arrived = new Promise<void>((resolve) => {
    both = resolve;
  });
  const fault = () => {
    if (++count === 2) both();
    return "hang" as const;
  };
  const two = await setup([{ fault }, { fault }]);
  const controller = new AbortController();
  const waiting = two.sampler.sample(ask(), controller.signal);
  await expect.poll(() => count).toBe(1);
  expect(two.endpoint.hurry()).toBe(1);
  await arrived;
  expect(two.endpoint.hurry()).toBe(0);
  controller.abort("done");
  await expect(waiting).rejects.toBe("done");

  const one = await setup([{ fault }]);
  const last = new AbortController();
  const alone = one.sampler.sample(ask(), last.signal);
  await expect.poll(() => count).toBe(3);
  expect(one.endpoint.hurry()).toBe(0);
  last.abort("done");
  await expect(alone).rejects.toBe("done");
});

test("a bug in a driver is no infrastructure failure", async () => {
  const generate = () => Promise.reject(new RangeError("bug"));
  const { sampler, endpoint } = await setup([{}], {}, { ...vllm, generate });
  await expect(sampler.sample(ask())).rejects.toThrow(RangeError);
  expect(endpoint.counters().failed).toBe(0);
});
