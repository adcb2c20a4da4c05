import OpenAI, {
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { createApi } from "./api.ts";
import { closeServed, complete, served } from "./api-toys.ts";
import { ServedError } from "./served-model.ts";
import { startStub } from "./stub.ts";
import { stubModel } from "./stub-model.ts";

afterEach(closeServed);

describe("errors are the client's own classes", () => {
  test.each([
    ["an unknown model", NotFoundError, { model: "nope" }, /The model `nope` does not exist/],
    ["top_p", BadRequestError, { top_p: 0 }, /top_p must be in \(0, 1\], got 0\.0/],
    ["five stop strings", BadRequestError, { stop: ["a", "b", "c", "d", "e"] }, /at most 4 items/],
    ["an empty stop string", BadRequestError, { stop: [""] }, /stop cannot contain an empty string/],
    ["no prompt", BadRequestError, { prompt: "" }, /prompt/],
    ["n greedy samples", BadRequestError, { temperature: 0, n: 2 }, /n must be 1 when using greedy/],
    ["a penalty", BadRequestError, { presence_penalty: 0.5 }, /presence_penalty is not supported/],
    ["min_p", BadRequestError, { min_p: 0.1 }, /min_p is not supported/],
    ["logit_bias", BadRequestError, { logit_bias: { 5: 1 } }, /logit_bias is not supported/],
  ])("%s", async (_name, kind, body, message) => {
    const { client } = await served();
    const error = await complete(client, body).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toMatch(message);
  });

  test.each([
    ["status500", InternalServerError],
    ["status503", InternalServerError],
    ["status429", RateLimitError],
  ] as const)("%s", async (fault, kind) => {
    const { client } = await served({ faults: [{ fault, at: [1] }] });
    await expect(complete(client, {})).rejects.toBeInstanceOf(kind);
    expect((await complete(client, {})).choices[0]?.text).toBe("It is Paris, of ");
  });

  test("what is off changes nothing, and unknown fields are passed over", async () => {
    const { client } = await served();
    const neutral = { presence_penalty: 0, min_p: 0, repetition_penalty: 1, top_k: -1, seed: -1 };
    const { choices } = await complete(client, { ...neutral, bogus: 1, cache_salt: "v1" });
    expect(choices[0]?.text).toBe("It is Paris, of ");
  });
});

describe("adapters", () => {
  const load = (client: OpenAI, name: string) =>
    client.post<string>("/load_lora_adapter", {
      body: { lora_name: name, lora_path: `/a/${name}` },
    });

  test("are loaded, listed, used by name and unloaded", async () => {
    const { client } = await served();
    expect(await load(client, "run-v1")).toBe("Success: LoRA adapter 'run-v1' added successfully.");
    const cards = (await client.models.list()).data as (OpenAI.Model & { parent: string | null })[];
    expect(cards.map(({ id, parent }) => [id, parent])).toEqual([
      ["base", null],
      ["run-v1", "base"],
    ]);
    const [base, adapter] = [
      await complete(client, { logprobs: 0 }),
      await complete(client, { model: "run-v1", logprobs: 0 }),
    ];
    expect(adapter.reply.model).toBe("run-v1");
    expect(adapter.choices[0]?.logprobs?.token_logprobs).not.toEqual(
      base.choices[0]?.logprobs?.token_logprobs,
    );
    await client.post("/unload_lora_adapter", { body: { lora_name: "run-v1" } });
    await expect(complete(client, { model: "run-v1" })).rejects.toBeInstanceOf(NotFoundError);
  });

  test("may be forbidden: then there is no such path", async () => {
    const { client, stub } = await served({ allowAdapters: false });
    await expect(load(client, "x")).rejects.toBeInstanceOf(NotFoundError);
    expect(stub.model.cards()).toHaveLength(1);
  });
});

test("other paths are 404, other methods 405, as FastAPI says them", async () => {
  const { stub } = await served();
  const said = async (path: string, method: string) => {
    const response = await fetch(stub.url + path, { method });
    return [response.status, await response.json()];
  };
  expect(await said("/v1/nothing", "GET")).toEqual([404, { detail: "Not Found" }]);
  expect(await said("/v1/completions", "GET")).toEqual([405, { detail: "Method Not Allowed" }]);
});

test("a model that breaks is unhealthy until it answers again", async () => {
  const model = stubModel({ name: "base" });
  let broken = true;
  const app = createApi({
    model: {
      ...model,
      async generate(request, signal) {
        if (broken) throw new ServedError("broken", "out of memory");
        return model.generate(request, signal);
      },
    },
  });
  const headers = { "content-type": "application/json" };
  const ask = () => app.request("/v1/completions", { method: "POST", headers, body: '{"prompt":"Hi"}' });
  const health = async () => (await app.request("/health")).status;
  expect(await health()).toBe(200);
  expect(await (await ask()).json()).toMatchObject({ error: { type: "InternalServerError", code: 500 } });
  expect(await health()).toBe(503);
  broken = false;
  expect((await ask()).status).toBe(200);
  expect(await health()).toBe(200);
});

test("a body that is no JSON, or says it is none, is a 400", async () => {
  const { stub } = await served();
  const sent = async (type: string, body: string) => {
    const response = await fetch(`${stub.url}/v1/completions`, {
      ...{ method: "POST", headers: { "content-type": type }, body },
    });
    return [response.status, ((await response.json()) as { error: { message: string } }).error.message];
  };
  expect(await sent("application/json", "{")).toEqual([400, expect.stringContaining("JSON decode error")]);
  expect(await sent("application/json", "[]")).toEqual([400, expect.stringContaining("valid dictionary")]);
  expect(await sent("text/plain", "{}")).toEqual([400, expect.stringContaining("Unsupported Media Type")]);
});

test("a port that is taken is an error with its code", async () => {
  const { stub } = await served();
  await expect(startStub({ port: stub.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});

test("with an API key, /v1 wants it and /health does not", async () => {
  const { stub, client } = await served({ apiKey: "secret" });
  await expect(client.models.list()).rejects.toBeInstanceOf(AuthenticationError);
  expect((await fetch(`${stub.url}/v1/models`)).status).toBe(401);
  expect((await fetch(`${stub.url}/health`)).status).toBe(200);
  const right = new OpenAI({ baseURL: `${stub.url}/v1`, apiKey: "secret" });
  expect((await right.models.list()).data).toHaveLength(1);
});

test("metrics have vLLM's names and count what was done", async () => {
  const { stub, client } = await served();
  await complete(client, { max_tokens: 5 });
  const text = await (await fetch(`${stub.url}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^vllm:${name}\\{[^}]*\\} (.*)$`, "m").exec(text)?.[1]);
  expect(value("prompt_tokens_total")).toBe(8);
  expect(value("generation_tokens_total")).toBe(5);
  for (const name of [
    "num_requests_running",
    "num_requests_waiting",
    "kv_cache_usage_perc",
    "num_preemptions_total",
  ])
    expect(value(name), name).toBe(0);
});
