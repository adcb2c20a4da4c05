import http from "node:http";
import type { AddressInfo, Socket } from "node:net";
import OpenAI from "openai";
import { afterEach, expect, test } from "vitest";
import { ConnectionError, type HttpClient, httpClient } from "./http-fetch.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(listener: http.RequestListener): Promise<{ url: string; sockets: Set<Socket> }> {
  const server = http.createServer(listener);
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}

function client(o?: { idleMs: number }): HttpClient {
  const made = httpClient(o);
  closing.push(made.close);
  return made;
}

test("sends method, headers and body, and reads status, headers and body", async () => {
  const { url } = await serve((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      response.writeHead(201, { "x-a": "b", "content-type": "application/json" });
      response.end(JSON.stringify({ method: request.method, key: request.headers["x-key"], body }));
    });
  });
  const { fetch } = client();
  const answer = await fetch(url, { method: "POST", headers: { "X-Key": "k" }, body: "grüße" });
  expect(answer.status).toBe(201);
  expect(answer.headers.get("x-a")).toBe("b");
  expect(await answer.json()).toEqual({ method: "POST", key: "k", body: "grüße" });
});

test("writes forms and Requests as the standard fetch does", async () => {
  const { url } = await serve((request, response) => {
    response.setHeader("x-type", request.headers["content-type"] ?? "");
    request.pipe(response);
  });
  const { fetch } = client();
  const form = await fetch(url, { method: "POST", body: new URLSearchParams({ a: "1 2" }) });
  expect(form.headers.get("x-type")).toMatch("application/x-www-form-urlencoded");
  expect(await form.text()).toBe("a=1+2");
  expect(await (await fetch(new Request(url, { method: "POST", body: "whole" }))).text()).toBe("whole");
});

test("a body of 1 MB in many pieces comes whole, read at the reader's own pace", async () => {
  const piece = "x".repeat(1_000);
  const { url } = await serve((_, response) => {
    for (let i = 0; i < 1_000; i++) response.write(piece);
    response.end();
  });
  const reader = (await client().fetch(url)).body?.getReader();
  let bytes = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
    bytes += part.value.length;
  expect(bytes).toBe(1_000_000);
});

test("one socket serves one request after the other, and an idle one is given up", async () => {
  const { url, sockets } = await serve((_, response) => response.end("ok"));
  const { fetch } = client({ idleMs: 30 });
  for (let i = 0; i < 3; i++) await (await fetch(url)).text();
  expect(sockets.size).toBe(1);
  const [socket] = sockets;
  await new Promise((resolve) => socket?.on("close", resolve));
  expect(await (await fetch(url)).text()).toBe("ok");
  expect(sockets.size).toBe(2);
});

test("the idle limit does not touch a request that is under way", async () => {
  const { url } = await serve((_, response) => {
    setTimeout(() => response.write("slow "), 60);
    setTimeout(() => response.end("answer"), 120);
  });
  expect(await (await client({ idleMs: 20 }).fetch(url)).text()).toBe("slow answer");
});

test("a refused connection, a reset and a server that closes without an answer are ConnectionErrors", async () => {
  const { fetch } = client();
  await expect(fetch("http://127.0.0.1:1")).rejects.toMatchObject({
    name: "ConnectionError",
    code: "ECONNREFUSED",
  });
  const reset = await serve((request) => void request.socket.destroy());
  await expect(fetch(reset.url)).rejects.toBeInstanceOf(ConnectionError);
});

test.each([
  ["a length", { "content-length": "100" }],
  ["chunks", {}],
])("half a body is an error, never an end: with %s", async (_, headers) => {
  const { url } = await serve((_, response) => {
    response.writeHead(200, headers);
    response.write('{"whole": true}', () => response.socket?.destroy());
  });
  const answer = await client().fetch(url);
  await expect(answer.text()).rejects.toBeInstanceOf(ConnectionError);
});

test("an abort rejects with the signal's own reason before the answer and within it", async () => {
  const { url } = await serve((request, response) => {
    if (request.url === "/body") response.write("a");
  });
  const { fetch } = client();
  const early = new AbortController();
  const waiting = fetch(url, { signal: early.signal });
  early.abort("enough");
  await expect(waiting).rejects.toBe("enough");
  await expect(fetch(url, { signal: early.signal })).rejects.toBe("enough");

  const late = new AbortController();
  const answer = await fetch(`${url}/body`, { signal: late.signal });
  const reading = answer.text();
  late.abort(new Error("too late"));
  await expect(reading).rejects.toThrow("too late");
});

test("an abort frees the server", async () => {
  let gone = () => {};
  const left = new Promise<void>((resolve) => {
    gone = resolve;
  });
  let came = () => {};
  const arrived = new Promise<void>((resolve) => {
    came = resolve;
  });
  const { url } = await serve((_, response) => {
    came();
    response.on("close", gone);
  });
  const controller = new AbortController();
  const waiting = client().fetch(url, { signal: controller.signal });
  await arrived;
  controller.abort();
  await expect(waiting).rejects.toThrow();
  await left;
});

test("no listener stays on the signal", async () => {
  const { url } = await serve((_, response) => response.end("ok"));
  const { fetch } = client();
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = ((...a: Parameters<typeof add>) => {
    listeners++;
    add(...a);
  }) as typeof add;
  signal.removeEventListener = ((...a: Parameters<typeof remove>) => {
    listeners--;
    remove(...a);
  }) as typeof remove;
  for (let i = 0; i < 5; i++) await (await fetch(url, { signal })).text();
  await new Promise(setImmediate);
  expect(listeners).toBeLessThanOrEqual(0);
});

test("256 requests at a time, each with its own answer", async () => {
  const { url } = await serve((request, response) => response.end(request.url));
  const { fetch } = client();
  const paths = Array.from({ length: 256 }, (_, i) => `/${i}`);
  const texts = await Promise.all(paths.map(async (path) => (await fetch(url + path)).text()));
  expect(texts).toEqual(paths);
});

test("the official client streams through it", async () => {
  const { url } = await serve((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const text of ["Hel", "lo"]) response.write(`data: ${JSON.stringify({ choices: [{ text }] })}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", fetch: client().fetch, maxRetries: 0 });
  const stream = await openai.completions.create({ model: "m", prompt: "p", stream: true });
  const texts: string[] = [];
  for await (const { choices } of stream) texts.push(choices[0]?.text ?? "");
  expect(texts).toEqual(["Hel", "lo"]);
});

test("idle sockets that the server has closed unseen cost no request", async () => {
  let asked = 0;
  const { url, sockets } = await serve((request, response) => {
    asked++;
    request.resume().on("end", () => response.end("fine"));
  });
  const { fetch } = client();
  const post = async () => (await fetch(url, { method: "POST", body: "x" })).text();
  await Promise.all([post(), post(), post()]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(sockets.size).toBe(3);
  for (const socket of sockets) socket.destroy(); // in this very tick: the client cannot have noticed
  expect(await post()).toBe("fine");
  expect(asked).toBe(4);
  expect(sockets.size).toBe(4);
});
