import { afterEach, expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import type { Connection } from "./connection.ts";
import { EndpointError } from "./error.ts";
import { openConnection } from "./open-connection.ts";
import { readServerUrl } from "./server-url.ts";
import { type ToyOptions, type ToyServer, toyServer } from "./toy-server.ts";
import { vllm } from "./vllm.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(o: ToyOptions = {}, apiKey?: string): Promise<{ at: Connection; toy: ToyServer }> {
  const toy = await toyServer(o);
  const at = openConnection({ url: `${toy.url}/v1/`, apiKey });
  closing.push(toy.close, at.close);
  return { at, toy };
}

const { signal } = new AbortController();
const request = (maxTokens = 8) => ({
  model: "base",
  prompt: [97, 98],
  params: { temperature: 1, topP: 1, topK: 0, maxTokens, stop: [], seed: 1 },
});

test.each([
  ["http://127.0.0.1:8000", "http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"],
  [" http://127.0.0.1:8000/v1/ ", "http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"],
  ["https://host/proxy//", "https://host/proxy", "https://host/proxy/v1"],
  ["https://host/proxy/v1", "https://host/proxy", "https://host/proxy/v1"],
  ["https://host/v1beta/openai/", "https://host/v1beta/openai", "https://host/v1beta/openai"],
])("%s is a server's address", (text, root, api) => {
  expect(readServerUrl(text)).toEqual({ root, api });
});

test.each([
  "",
  "localhost:8000",
  "ftp://host",
  "http://",
  "http://key:secret@host",
  "http://host?key=1",
  "http://host#a",
])("%j is none", (url) => {
  expect(() => openConnection({ url })).toThrow(ConfigError);
});

test("what is sent carries the key that was given, and no other", async () => {
  process.env.OPENAI_API_KEY = "not for this server";
  closing.push(() => delete process.env.OPENAI_API_KEY);
  const plain = await open();
  await vllm.models(plain.at, signal);
  await vllm.generate(plain.at, request(), signal);
  expect(plain.toy.headers.map(({ authorization }) => authorization)).toEqual([undefined, undefined]);
  const keyed = await open({}, "sesame");
  await vllm.models(keyed.at, signal);
  await vllm.generate(keyed.at, request(), signal);
  expect(keyed.toy.headers.map(({ authorization }) => authorization)).toEqual([
    "Bearer sesame",
    "Bearer sesame",
  ]);
});

const vllmError = (message: string, type: string) => ({ error: { message, type, param: null, code: 0 } });

test.each([
  [429, vllmError("slow down", "RateLimitError"), "overloaded", true],
  [503, "<html>busy</html>", "overloaded", true],
  [500, vllmError("boom", "InternalServerError"), "server", true],
  [502, "", "server", true],
  [408, {}, "timeout", true],
  [404, vllmError("The model `x` does not exist.", "NotFoundError"), "missingModel", true],
  [404, { error: { message: "no", code: "model_not_found" } }, "missingModel", true],
  [404, { error: { message: "gone", param: "model" } }, "missingModel", true],
  [404, { detail: "Not Found" }, "refused", false],
  [404, vllmError("The lora adapter 'a' cannot be found.", "NotFoundError"), "refused", false],
  [400, vllmError("too long", "BadRequestError"), "refused", false],
  [401, { error: "Unauthorized" }, "refused", false],
  [422, { detail: [{ msg: "field required" }] }, "refused", false],
  [307, "elsewhere", "refused", false],
] as const)("%i %j is %s, through the client and by hand", async (status, body, kind, retryable) => {
  const fault = { status, body };
  const { at, toy } = await open({ fault: () => fault });
  const byClient = vllm.generate(at, request(), signal);
  await expect(byClient).rejects.toMatchObject({ kind, status, retryable });
  const byHand = at.call("POST", "/v1/completions", {
    body: { model: "base", prompt: [1], max_tokens: 1 },
    signal,
  });
  await expect(byHand).rejects.toMatchObject({ kind, status, retryable });
  // The client makes no retry of its own.
  expect(toy.requests.length).toBe(2);
});

test.each(["reset", "half"] as const)("%s is a broken connection, never a cut answer", async (fault) => {
  const { at } = await open({ fault: () => fault });
  const failure = vllm.generate(at, request(), signal);
  await expect(failure).rejects.toMatchObject({ kind: "connection", retryable: true });
});

test("nobody there is a broken connection that names the address", async () => {
  const at = openConnection({ url: "http://127.0.0.1:1" });
  closing.push(at.close);
  for (const call of [() => vllm.generate(at, request(), signal), () => vllm.models(at, signal)]) {
    const failure = call();
    await expect(failure).rejects.toMatchObject({ kind: "connection" });
    await expect(failure).rejects.toThrow(/127\.0\.0\.1:1.*ECONNREFUSED/su);
  }
});

test.each(["[1, 2", "<html>", ""])("a body %j where JSON was promised is malformed", async (text) => {
  const { at } = await open({ fault: () => ({ status: 200, body: text }) });
  await expect(vllm.generate(at, request(), signal)).rejects.toMatchObject({ kind: "malformed" });
});

test("an aborted call rejects with the signal's reason untouched, and the server sees it go", async () => {
  let came = () => {};
  const arrived = new Promise<void>((resolve) => {
    came = resolve;
  });
  const { at, toy } = await open({
    fault: () => {
      came();
      return "hang";
    },
  });
  const controller = new AbortController();
  const reason = new EndpointError("timeout", { what: "mine" });
  const failure = vllm.generate(at, request(), controller.signal);
  await arrived;
  controller.abort(reason);
  await expect(failure).rejects.toBe(reason);
  await expect(vllm.models(at, controller.signal)).rejects.toBe(reason);
  await expect.poll(toy.dropped).toBe(1);
});
