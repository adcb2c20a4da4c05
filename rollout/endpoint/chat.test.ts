import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import type { Task } from "../../datasets/task.ts";
import { envConfig } from "../../env/config.ts";
import { researcher } from "../../env/researcher.ts";
import { rollGroups } from "../groups.ts";
import type { SeatPlace } from "../player-seat.ts";
import { byteTokenizer, toyRenderer } from "../testing.ts";
import { type ChatOptions, type ChatPolicy, chatPolicy } from "./chat.ts";
import { withStop } from "./chat-text.ts";
import { endpointConfig } from "./config.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Body {
  messages: { role: string; content: string }[];
  [field: string]: unknown;
}
interface Said {
  status?: number;
  body: unknown;
}

const said = (content: string, o: { finish?: string; stop_reason?: string } = {}): Said => ({
  body: {
    choices: [
      {
        message: { role: "assistant", content },
        finish_reason: o.finish ?? "stop",
        stop_reason: o.stop_reason,
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 4 },
  },
});
const no = (status: number, message: string): Said => ({ status, body: { error: { message } } });

/** A chat API that answers from a script; undefined: never. */
async function chatServer(
  script: (body: Body, n: number) => Said | undefined,
  o: Partial<ChatOptions["config"]> = {},
) {
  const requests: Body[] = [];
  const notices: string[] = [];
  const server = http.createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text) as Body;
    requests.push(body);
    const answer = script(body, requests.length - 1);
    if (answer === undefined) return;
    response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const policy = chatPolicy({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    model: "closed",
    prompt: { system: "Be brief.", user: "Question: {question}" },
    config: { ...endpointConfig.parse({ servers: ["http://h"], retryDelayMs: 0 }), ...o },
    onNotice: (text) => notices.push(text),
  });
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  }, policy.close);
  return { policy, requests, notices };
}

const tokenizer = byteTokenizer();
const sit = (policy: ChatPolicy, o: Partial<SeatPlace> = {}) =>
  policy.takeSeat({
    name: "researcher",
    sequence: "s",
    question: "Who?",
    tokenizer,
    decoding: { temperature: 0, topP: 1, topK: 0 },
    seedOfTurn: (turn) => 100 + turn,
    signal: new AbortController().signal,
    ...o,
  });

describe("the stop string", () => {
  const stop = ["</search>", "STOP"];
  test.each([
    ["is put back where its tag stands open", "<search> a", "stop", undefined, "<search> a</search>", "stop"],
    [
      "is put back in the last open tag",
      "<search> a</search><search> b",
      "length",
      undefined,
      "<search> a</search>",
      "stop",
    ],
    ["is not added without an open tag", "No idea.", "stop", undefined, "No idea.", "eos"],
    ["is not added after another tag", "<answer> a", "stop", undefined, "<answer> a", "eos"],
    ["is not added at the length", "<search> a", "length", undefined, "<search> a", "length"],
    ["is what the server says it is", "well", "stop", "STOP", "wellSTOP", "stop"],
    ["is not what nobody asked for", "well", "stop", "</answer>", "well", "eos"],
    ["is not added twice", "<search> a</search>", "stop", "</search>", "<search> a</search>", "stop"],
    [
      "cuts what a server wrote on",
      "<search> a</search> and more",
      "stop",
      undefined,
      "<search> a</search>",
      "stop",
    ],
  ] as const)("%s", (_, text, reason, stopReason, whole, finish) => {
    expect(withStop(text, stop, reason, stopReason)).toEqual({ text: whole, finish });
  });
});

test("a conversation: question, turns and observations as messages; the record has texts and counts alone", async () => {
  const { policy, requests } = await chatServer((_, n) =>
    said(n === 0 ? "<search> Rome" : "<answer> Rome </answer>"),
  );
  const seat = sit(policy);
  const first = await seat.act({ stop: ["</search>"], maxTokens: 50 });
  expect(first).toEqual({ text: "<search> Rome</search>", finish: "stop", tokens: 4 });
  const shown = await seat.observe({ open: "<i>", body: "abcdef", close: "</i>", maxTokens: 10 });
  expect(shown).toEqual({ tokens: 10, cut: 3 });
  await seat.observe("Go on.");
  await seat.act({ stop: ["</search>"], maxTokens: 50 });
  seat.close();
  expect(requests[1]).toEqual({
    model: "closed",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Question: Who?" },
      { role: "assistant", content: "<search> Rome</search>" },
      { role: "user", content: "<i>abc</i>\nGo on." },
    ],
    ...{ temperature: 0, max_tokens: 50, seed: 101, stop: ["</search>"] },
  });
  const usage = { promptTokens: 10, completionTokens: 4 };
  expect(seat.sequences()[0]).toEqual({
    seat: "researcher",
    segments: [
      { source: "prompt", tokens: [], text: "Be brief.\n\nQuestion: Who?" },
      { source: "policy", tokens: [], text: "<search> Rome</search>", finish: "stop", usage },
      { source: "observation", tokens: [], text: "<i>abc</i>" },
      { source: "injected", tokens: [], text: "Go on." },
      { source: "policy", tokens: [], text: "<answer> Rome </answer>", finish: "eos", usage },
    ],
  });
  expect(policy.counters()).toMatchObject({ requests: 2, promptTokens: 20, completionTokens: 8 });
  await expect(seat.act({ stop: [], maxTokens: 5 })).rejects.toThrow(/after the episode ended/u);
});

test("fields that a server does not take are learnt from its refusals, told once, and left out", async () => {
  const unsupported = ["max_tokens", "stop", "temperature"];
  const { policy, requests, notices } = await chatServer((body) => {
    const field = unsupported.find((each) => each in body);
    if (field === undefined) return said("x");
    return no(400, `Unsupported parameter: '${field}' is not supported with this model.`);
  });
  for (let i = 0; i < 2; i++) await sit(policy).act({ stop: ["x"], maxTokens: 7 });
  expect(requests.length).toBe(5);
  expect(Object.keys(requests[4] as Body).sort()).toEqual([
    "max_completion_tokens",
    "messages",
    "model",
    "seed",
  ]);
  expect(notices.length).toBe(3);
});

test("another refusal is a failure, and is not asked again", async () => {
  const { policy, requests } = await chatServer(() => no(400, "Unsupported value: 'tools' is unknown."));
  const seat = sit(policy);
  await expect(seat.act({ stop: [], maxTokens: 7 })).rejects.toMatchObject({ kind: "refused" });
  expect(seat.failure).toMatchObject({ kind: "refused" });
  expect(requests.length).toBe(1);
});

test("a conversation that has outgrown the model ends as a full context does", async () => {
  const { policy } = await chatServer(() => no(400, "This model's maximum context length is 8 tokens."));
  expect(await sit(policy).act({ stop: [], maxTokens: 7 })).toEqual({
    text: "",
    finish: "context",
    tokens: 0,
  });
});

test("failures are retried with the same seed, and counted", async () => {
  const { policy, requests } = await chatServer((_, n) => (n < 2 ? no(429, "slow down") : said("yes")));
  expect((await sit(policy).act({ stop: [], maxTokens: 7 })).text).toBe("yes");
  expect(requests.map(({ seed }) => seed)).toEqual([100, 100, 100]);
  expect(policy.counters()).toMatchObject({ requests: 1, failed: 0, retried: { overloaded: 2 } });
});

test("a request that hangs ends at its deadline", async () => {
  const { policy } = await chatServer(() => undefined, { requestTimeoutMs: 30, attempts: 1 });
  await expect(sit(policy).act({ stop: [], maxTokens: 7 })).rejects.toMatchObject({ kind: "timeout" });
  expect(policy.counters()).toMatchObject({ timeouts: 1, failed: 1 });
});

test("an answer without text leaves no segment and no message", async () => {
  const { policy, requests } = await chatServer((_, n) => said(n === 0 ? "" : "yes"));
  const seat = sit(policy);
  await seat.act({ stop: [], maxTokens: 7 });
  await seat.act({ stop: [], maxTokens: 7 });
  expect(requests[1]?.messages).toEqual(requests[0]?.messages);
  expect(seat.sequences()[0]!.segments.map(({ source }) => source)).toEqual(["prompt", "policy"]);
});

test("it can be rolled like any policy, and never sampled from", async () => {
  const { policy } = await chatServer((body) => {
    const last = body.messages.at(-1)?.content ?? "";
    return last.includes("Rome is") ? said("<answer> Rome </answer>") : said("<search> capital of Italy");
  });
  const environment = researcher({
    retriever: {
      version: "toy",
      size: 1,
      close: async () => {},
      search: async (queries) =>
        queries.map(() => [{ id: "1", title: "Rome", text: "Rome is a city.", score: 1 }]),
    },
    config: envConfig.parse({}),
    seed: 1,
  });
  const task: Task = { id: "q", question: "Capital?", goldenAnswers: ["Rome"], dataset: "toy", hops: 1 };
  const { groups, leftOut } = await rollGroups([task], {
    ...{ policy, environment, tokenizer, renderer: toyRenderer(tokenizer), seed: 1, step: 0 },
    decoding: { temperature: 0, topP: 1, topK: 0 },
    ...{ groupSize: 2, maxRows: 1, concurrency: 2, retries: 0, retryDelayMs: 0, episodeTimeoutMs: 0 },
  });
  expect(leftOut).toEqual([]);
  expect(groups[0]?.members.map(({ outcome, ending }) => [outcome, ending?.searches[0]?.query])).toEqual([
    ["answered", "capital of Italy"],
    ["answered", "capital of Italy"],
  ]);
  const texts = groups[0]?.members[0]?.sequences[0]?.segments.map(({ text }) => text) ?? [];
  expect(texts[1]).toBe("<search> capital of Italy</search>");
  expect(texts.at(-1)).toBe("<answer> Rome </answer>");
  expect(() =>
    policy.sample({
      sequence: "s",
      prompt: [1],
      params: { temperature: 1, topP: 1, topK: 0, maxTokens: 1, stop: [], seed: 1 },
    }),
  ).toThrow(ConfigError);
});
