import { afterEach, describe, expect, test } from "vitest";
import type { Connection } from "./connection.ts";
import type { DriverName } from "./driver.ts";
import { drivers, openDriver } from "./drivers.ts";
import { openConnection } from "./open-connection.ts";
import { toyComplete } from "./toy-language.ts";
import { type Fault, type ToyOptions, type ToyServer, toyServer } from "./toy-server.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(o: ToyOptions): Promise<{ at: Connection; toy: ToyServer }> {
  const toy = await toyServer(o);
  const at = openConnection({ url: toy.url });
  closing.push(toy.close, at.close);
  return { at, toy };
}

const { signal } = new AbortController();
const prompt = [97, 98, 99];
const ask = (
  o: { model?: string; maxTokens?: number; temperature?: number; stop?: string[]; seed?: number } = {},
) => {
  const { model = "base", maxTokens = 12, temperature = 1, stop = [], seed = 5 } = o;
  return { model, prompt, params: { temperature, topP: 1, topK: 0, maxTokens, stop, seed } };
};
const truth = (o: Parameters<typeof ask>[0] = {}) => {
  const { params, ...rest } = ask(o);
  return toyComplete({ ...rest, ...params });
};
/** The first seed whose text ends so. */
const seedFor = (finish: string, stop: string[] = []) => {
  for (let seed = 1; ; seed++) {
    const made = truth({ maxTokens: 40, stop, seed });
    if ((made.stop ?? (made.finish === "stop" ? "eos" : "length")) === finish) return seed;
  }
};

const makes: DriverName[] = ["vllm", "sglang", "llamacpp"];

describe.each(makes)("%s", (make) => {
  const driver = drivers[make];

  test("gives the ids that were sampled, and their logprobs where it has any", async () => {
    const { at } = await open({ make });
    const { tokens, logprobs, finish } = await driver.generate(at, ask(), signal);
    expect(tokens).toEqual(truth().tokens);
    expect(finish).toBe("length");
    expect(logprobs).toEqual(driver.capabilities.logprobs ? truth().logprobs : tokens.map(() => 0));
  });

  test("tells a stop string, the end of text and the length apart; both ends are among the ids", async () => {
    const { at } = await open({ make });
    const stopped = await driver.generate(
      at,
      ask({ maxTokens: 40, stop: ["a"], seed: seedFor("a", ["a"]) }),
      signal,
    );
    expect(stopped.finish).toBe("stop");
    expect(stopped.tokens.at(-1)).toBe(97);
    const ended = await driver.generate(at, ask({ maxTokens: 40, seed: seedFor("eos") }), signal);
    expect(ended.finish).toBe("eos");
    expect(ended.tokens.at(-1)).toBe(256);
    const cut = await driver.generate(at, ask({ maxTokens: 3, temperature: 0 }), signal);
    expect(cut).toMatchObject({ finish: "length", tokens: truth({ maxTokens: 3, temperature: 0 }).tokens });
  });

  test("lists the base model and its context", async () => {
    const { at } = await open({ make, contextTokens: 777 });
    expect(await driver.models(at, signal)).toEqual([{ id: "base", contextTokens: 777 }]);
  });

  test("an aborted generation rejects with the reason", async () => {
    const { at } = await open({ make });
    const failure = driver.generate(at, ask(), AbortSignal.abort("no more"));
    await expect(failure).rejects.toBe("no more");
  });

  test("is found by what the server says of itself", async () => {
    const { at } = await open({ make });
    expect((await openDriver("auto", at, signal)).name).toBe(make);
  });

  test("a server without a page of metrics has no load", async () => {
    const { at } = await open({ make });
    expect(await driver.load(at, signal)).toBeUndefined();
  });
});

describe.each(["vllm", "sglang"] as const)("%s", (make) => {
  const driver = drivers[make];

  test("scores a given text at temperature 1", async () => {
    const { at } = await open({ make });
    const { tokens, logprobs } = await driver.generate(at, ask(), signal);
    const scores = await driver.score(at, "base", [...prompt, ...tokens], signal);
    expect(scores.length).toBe(prompt.length + tokens.length - 1);
    expect(scores.slice(prompt.length - 1)).toEqual(logprobs);
    expect(await driver.score(at, "base", [97], signal)).toEqual([]);
  });

  test("loads, uses, lists and unloads an adapter; a name that is not there is no failure to unload", async () => {
    const { at } = await open({ make });
    await expect(driver.generate(at, ask({ model: "run-v1" }), signal)).rejects.toMatchObject({
      kind: "missingModel",
    });
    await driver.loadAdapter(at, { name: "run-v1", path: "/adapters/1" }, signal);
    expect(await driver.models(at, signal)).toContainEqual({
      id: "run-v1",
      parent: "base",
      root: "/adapters/1",
    });
    const adapted = await driver.generate(at, ask({ model: "run-v1" }), signal);
    expect(adapted.tokens).toEqual(truth({ model: "run-v1" }).tokens);
    expect(adapted.tokens).not.toEqual(truth().tokens);
    await driver.unloadAdapter(at, "run-v1", signal);
    await driver.unloadAdapter(at, "run-v1", signal);
    await expect(driver.generate(at, ask({ model: "run-v1" }), signal)).rejects.toMatchObject({
      kind: "missingModel",
    });
  });

  test("a folder that the server does not see is a refusal that says so", async () => {
    const { at } = await open({ make });
    const failure = driver.loadAdapter(at, { name: "x", path: "/none" }, signal);
    await expect(failure).rejects.toMatchObject({ kind: "refused" });
    await expect(failure).rejects.toThrow(/no adapter found/iu);
  });
});

test("a server that cannot unload at all is a failure, not a missing name", async () => {
  const { at } = await open({ make: "llamacpp" });
  await expect(drivers.vllm.unloadAdapter(at, "v1", signal)).rejects.toMatchObject({ kind: "refused" });
});

test("llama.cpp says what it cannot do, and never gets the seed that means any", async () => {
  const { at, toy } = await open({ make: "llamacpp" });
  const { llamacpp } = drivers;
  await expect(llamacpp.score(at, "base", [1, 2], signal)).rejects.toMatchObject({ kind: "refused" });
  const adapter = { name: "a", path: "/a" };
  await expect(llamacpp.loadAdapter(at, adapter, signal)).rejects.toMatchObject({ kind: "refused" });
  await expect(llamacpp.unloadAdapter(at, "a", signal)).rejects.toMatchObject({ kind: "refused" });
  await llamacpp.generate(at, ask({ seed: 0xffff_ffff }), signal);
  expect(toy.requests[0]?.seed).toBe(0xffff_fffe);
});

interface SglangReply {
  output_ids: number[];
  meta_info: {
    finish_reason: { type: string; message?: string };
    output_token_logprobs: [number | null, number, null][];
  };
}
const sgl =
  (change: (reply: SglangReply) => void): Fault =>
  (body) => {
    const reply = body as unknown as SglangReply;
    change(reply);
    return reply;
  };

test.each([
  [
    "a null logprob",
    sgl(({ meta_info }) => ((meta_info.output_token_logprobs[0] as [number | null, number, null])[0] = null)),
    "malformed",
  ],
  ["ids that disagree", sgl((reply) => (reply.output_ids[0] = 7)), "malformed"],
  [
    "an abort",
    sgl(({ meta_info }) => (meta_info.finish_reason = { type: "abort", message: "out of memory" })),
    "server",
  ],
] as const)("SGLang: %s", async (_, fault, kind) => {
  const { at } = await open({ make: "sglang", fault: () => fault });
  await expect(drivers.sglang.generate(at, ask(), signal)).rejects.toMatchObject({ kind });
});

test("SGLang: ids trimmed at the end are no disagreement, and the base model's requests name no adapter", async () => {
  const { at, toy } = await open({
    make: "sglang",
    fault: () => sgl((reply) => void reply.output_ids.pop()),
  });
  expect((await drivers.sglang.generate(at, ask(), signal)).tokens).toEqual(truth().tokens);
  expect(toy.requests[0]).not.toHaveProperty("lora_path");
  expect(toy.requests[0]?.sampling_params).toMatchObject({ top_k: -1, no_stop_trim: true, sampling_seed: 5 });
});

test("an unknown make must be named", async () => {
  const at: Connection = {
    ...(await open({})).at,
    call: async () => ({ data: [{ id: "m", owned_by: "acme" }] }),
  };
  await expect(openDriver("auto", at, signal)).rejects.toThrow(/acme.*endpoint\.driver/su);
  expect(await openDriver("sglang", at, signal)).toBe(drivers.sglang);
});
