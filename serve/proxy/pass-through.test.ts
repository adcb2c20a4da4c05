import { afterEach, expect, it } from "vitest";
import { PassThrough, type PassThroughOptions } from "./pass-through.ts";
import { startProxy } from "./proxy.ts";
import { clientOf } from "./testing.ts";
import { type Body, type Said, toyVllm } from "./toy-vllm.ts";

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(script: (body: Body, call: number) => Said, over: Partial<PassThroughOptions> = {}) {
  const upstream = await toyVllm(script);
  const reasons: string[] = [];
  const backend = new PassThrough({
    upstream: upstream.url,
    onUnrecorded: (reason) => reasons.push(reason),
    ...over,
  });
  const proxy = await startProxy();
  closing.push(upstream.close, () => backend.close(), proxy.close);
  const rollout = proxy.open({ backend });
  return { upstream, rollout, reasons, ...clientOf(rollout) };
}
const user = (content: string) => ({ role: "user" as const, content });

it("hands a conversation on as it is, and records its ids, logprobs and text", async () => {
  const { upstream, rollout, openai } = await open((_, call) => ["look", "found"][call]!);
  const first = await openai.chat.completions.create({
    model: "base",
    messages: [user("hi")],
    temperature: 0.3,
    seed: 7,
  });
  expect(first.choices[0]).toMatchObject({ message: { content: "look" }, logprobs: null });
  expect(JSON.stringify(first)).not.toContain("token_ids");
  const messages = [user("hi"), first.choices[0]!.message, user("page")];
  let streamed = "";
  const stream = await openai.chat.completions.create({ model: "base", messages, stream: true });
  for await (const { choices } of stream) streamed += choices[0]?.delta.content ?? "";
  expect(streamed).toBe("found");
  expect(upstream.bodies).toMatchObject([
    { temperature: 0.3, seed: 7, logprobs: true, return_token_ids: true, stream: false },
    { messages, stream: false },
  ]);
  const { sequences, tally } = await rollout.close();
  expect(sequences.map((s) => s.segments.map(({ source, text, finish }) => [source, text, finish]))).toEqual([
    [
      ["prompt", "user: hi<eos>assistant: ", undefined],
      ["policy", "look", "eos"],
      ["observation", "user: page<eos>assistant: ", undefined],
      ["policy", "found", "eos"],
    ],
  ]);
  expect(sequences[0]?.segments[1]).toMatchObject({ logprobs: [-0.25, -0.375, -0.5, -0.625, -0.75] });
  expect(tally).toMatchObject({ calls: 2, unrecorded: 0 });
});

it("completions: the agent gets the logprobs and ids it asked for", async () => {
  const { rollout, openai } = await open(() => "b");
  const plain = await openai.completions.create({ model: "base", prompt: "A" });
  expect(plain.choices[0]).toMatchObject({ text: "b", logprobs: null });
  const asked = { model: "base", prompt: [65, 98, 256, 66], logprobs: 1, return_token_ids: true };
  const whole = await openai.completions.create(asked);
  expect(whole.choices[0]).toMatchObject({
    logprobs: { token_logprobs: [-0.25, -0.375] },
    token_ids: [98, 256],
  });
  const { sequences } = await rollout.close();
  expect(sequences[0]?.segments.map(({ source, tokens }) => [source, tokens])).toEqual([
    ["prompt", [65]],
    ["policy", [98, 256]],
    ["observation", [66]],
    ["policy", [98, 256]],
  ]);
});

it("asks under the name and the key it was given", async () => {
  const { upstream, openai } = await open(() => "x", { model: "run-v3", apiKey: "hidden" });
  await openai.chat.completions.create({ model: "gpt-4o", messages: [user("hi")] });
  expect(upstream.bodies[0]?.model).toBe("run-v3");
  expect(upstream.heard[0]?.authorization).toBe("Bearer hidden");
  expect((await openai.models.list()).data[0]?.id).toBe("base");
});

const whole = { token_ids: [65], finish_reason: "stop", logprobs: { content: [{ logprob: -1 }] } };
const answers: [string, object, RegExp][] = [
  ["ids", { choices: [{ ...whole, token_ids: undefined }], prompt_token_ids: [1] }, /token_ids/],
  ["prompt ids", { choices: [whole] }, /prompt_token_ids/],
  ["logprobs", { choices: [{ ...whole, logprobs: null }], prompt_token_ids: [1] }, /logprobs/],
  [
    "real logprobs",
    { choices: [{ ...whole, logprobs: { content: [{ logprob: -9999 }] } }], prompt_token_ids: [1] },
    /no logprob/,
  ],
  [
    "as many logprobs",
    { choices: [{ ...whole, token_ids: [65, 66] }], prompt_token_ids: [1] },
    /unequal length/,
  ],
  [
    "an end of its own",
    { choices: [{ ...whole, finish_reason: "abort" }], prompt_token_ids: [1] },
    /finish_reason/,
  ],
];
it.each(answers)("an answer without %s reaches the agent and is no record", async (_, body, reason) => {
  const { rollout, reasons, post } = await open(() => ({ status: 200, body }));
  const answer = await post("/chat/completions", { messages: [user("hi")] });
  expect([answer.status, (answer.body.choices as unknown[]).length]).toEqual([200, 1]);
  expect(reasons.join()).toMatch(reason);
  const { tally, sequences } = await rollout.close();
  expect([tally.unrecorded, sequences]).toEqual([1, []]);
});

it("the server's refusals and failures are the agent's to see, as they were said", async () => {
  const error = {
    error: { message: "This model's maximum context length is 8 tokens.", type: "BadRequestError" },
  };
  const { rollout, post } = await open(
    (_, call) =>
      [
        { status: 400, body: error },
        { status: 503, body: error },
        { status: 200, body: "no object" },
      ][call]!,
  );
  const call = () => post("/chat/completions", { messages: [user("hi")] });
  expect(await call()).toEqual({ status: 400, body: error });
  expect(await call()).toEqual({ status: 503, body: error });
  expect((await call()).status).toBe(502);
  expect((await rollout.close()).tally).toMatchObject({ full: 1, failed: 2, calls: 0 });
});

it("a server that is gone is a 502", async () => {
  const { upstream, post } = await open(() => "x");
  await upstream.close();
  const answer = await post("/chat/completions", { messages: [user("hi")] });
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([
    502,
    expect.stringContaining("does not answer"),
  ]);
});
