import { afterEach, expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { byteTokenizer } from "../testing.ts";
import type { Driver } from "./driver.ts";
import { drivers } from "./drivers.ts";
import { openConnection } from "./open-connection.ts";
import { type FactName, type ProbeOptions, probeServer, requireSampling, requireTrainable } from "./probe.ts";
import { type Fault, type ToyOptions, toyServer } from "./toy-server.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function probe(toy: ToyOptions, o: Partial<ProbeOptions> & { url?: string } = {}) {
  const server = await toyServer({ contextTokens: 100, ...toy });
  const connection = openConnection({ url: o.url ?? server.url });
  closing.push(server.close, connection.close);
  const facts = await probeServer({
    ...{ connection, driver: drivers[toy.make ?? "vllm"], tokenizer: byteTokenizer(), contextTokens: 64 },
    ...{ prompt: [97, 98], signal: new AbortController().signal },
    ...o,
  });
  return { facts, verdicts: Object.fromEntries(facts.map(({ name, verdict }) => [name, verdict])) };
}

const all: FactName[] = [
  ...([
    "reachable",
    "model",
    "context",
    "tokenIds",
    "logprobs",
    "temperature",
    "sampling",
    "stop",
    "clipping",
  ] as const),
];

test.each(["vllm", "sglang"] as const)(
  "a good %s server passes every check and may be trained on",
  async (make) => {
    const { facts } = await probe({ make });
    expect(facts.map(({ name }) => name)).toEqual(all);
    expect(facts.filter(({ verdict }) => verdict !== "ok")).toEqual([]);
    requireTrainable(facts, "http://h");
    requireSampling(facts, "http://h");
  },
);

test("logprobs from before the temperature are found out, whatever the server was told to do", async () => {
  const { facts, verdicts } = await probe({ raw: true });
  expect(verdicts).toMatchObject({ tokenIds: "ok", logprobs: "ok", temperature: "fail" });
  expect(() => requireTrainable(facts, "http://h")).toThrow(/http:\/\/h.*temperature.*processed_logprobs/su);
  requireSampling(facts, "http://h");
});

const without =
  (field: "token_ids" | "logprobs"): Fault =>
  (reply) => {
    const [choice] = reply.choices as Record<string, unknown>[];
    delete choice?.[field];
    return reply;
  };

test("a server without logprobs cannot be trained on", async () => {
  const { facts, verdicts } = await probe({ fault: () => without("logprobs") });
  expect(verdicts).toMatchObject({ logprobs: "fail", tokenIds: "warn" });
  expect(() => requireTrainable(facts, "http://h")).toThrow(ConfigError);
});

test("a server without ids is not asked further, and can only be talked to", async () => {
  const { facts, verdicts } = await probe({ fault: () => without("token_ids") });
  expect(verdicts).toMatchObject({ tokenIds: "fail" });
  expect(facts.at(-1)?.name).toBe("logprobs");
  expect(() => requireTrainable(facts, "http://h")).toThrow(/tokenIds/u);
  expect(() => requireSampling(facts, "http://h")).toThrow(/--chat/u);
});

test("llama.cpp may be evaluated and not trained on", async () => {
  const { facts, verdicts } = await probe({ make: "llamacpp" });
  expect(verdicts).toMatchObject({
    tokenIds: "ok",
    logprobs: "fail",
    temperature: "warn",
    sampling: "ok",
    stop: "ok",
  });
  requireSampling(facts, "http://h");
  expect(() => requireTrainable(facts, "http://h")).toThrow(/llamacpp/u);
});

test("sampling that does not vary is found", async () => {
  const greedy: Driver = {
    ...drivers.vllm,
    generate: (at, request, signal) =>
      drivers.vllm.generate(at, { ...request, params: { ...request.params, seed: 1 } }, signal),
  };
  const { facts, verdicts } = await probe({}, { driver: greedy });
  expect(verdicts.sampling).toBe("fail");
  expect(() => requireTrainable(facts, "http://h")).toThrow(/generation-config/u);
});

test("a default that shapes the sampling shows against the score of the same text", async () => {
  const shaped: Driver = {
    ...drivers.vllm,
    generate: (at, request, signal) =>
      drivers.vllm.generate(at, { ...request, params: { ...request.params, temperature: 0.5 } }, signal),
  };
  const { verdicts } = await probe({}, { driver: shaped });
  expect(verdicts.logprobs).toBe("fail");
});

test("a stop string that is cut from the ids is found", async () => {
  const cut: Fault = (reply) => {
    const [choice] = reply.choices as {
      stop_reason: unknown;
      token_ids: number[];
      logprobs: { token_logprobs: number[] };
    }[];
    if (typeof choice?.stop_reason === "string") {
      choice.token_ids.splice(-2);
      choice.logprobs.token_logprobs.splice(-2);
    }
    return reply;
  };
  const { verdicts } = await probe({ fault: () => cut });
  expect(verdicts).toMatchObject({ tokenIds: "ok", stop: "fail" });
});

test("a context that is too short, an unknown model and nobody there are found first", async () => {
  const short = await probe({}, { contextTokens: 200 });
  expect(short.verdicts.context).toBe("fail");
  expect(() => requireSampling(short.facts, "http://h")).toThrow(/model\.contextTokens to 100/u);
  const unknown = await probe({}, { model: "nope" });
  expect(unknown.facts.at(-1)).toMatchObject({
    name: "model",
    verdict: "fail",
    evidence: expect.stringMatching(/lists base/u),
  });
  const nobody = await probe({}, { url: "http://127.0.0.1:1" });
  expect(nobody.facts).toMatchObject([{ name: "reachable", verdict: "fail" }]);
});

test("a long context is not filled just to see", async () => {
  const { facts } = await probe({}, { clipLimit: 50 });
  expect(facts.at(-1)).toMatchObject({
    name: "clipping",
    verdict: "ok",
    evidence: "not tried: the context is 100",
  });
});

test("clipping is seen", async () => {
  const { facts } = await probe({});
  expect(facts.at(-1)?.evidence).toMatch(/room for 4, asked for 16: [1-4] tokens/u);
});
