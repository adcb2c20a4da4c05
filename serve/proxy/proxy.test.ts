import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { templateChat } from "../../rollout/chat.ts";
import { lines, scriptedSampler } from "../../rollout/testing.ts";
import { type RecordingProxy, startProxy } from "./proxy.ts";
import { clientOf, tokenizer, toyRollout } from "./testing.ts";

let proxy: RecordingProxy;
beforeAll(async () => {
  proxy = await startProxy();
});
afterAll(() => proxy.close());

const user = (content: string) => ({ role: "user" as const, content });
const texts = (sequences: readonly { segments: readonly { source: string; text: string }[] }[]) =>
  sequences.map(({ segments }) => segments.map(({ source, text }) => `${source}: ${text}`));

describe("chat completions", () => {
  it("a conversation is one sequence: ids as sampled, with logprobs, version and source", async () => {
    const { rollout, openai, sampler } = toyRollout(proxy, lines(["look", "found"]));
    const messages: Parameters<typeof openai.chat.completions.create>[0]["messages"] = [user("hi")];
    const first = await openai.chat.completions.create({
      model: "gpt-4o",
      messages,
      temperature: 0,
      max_tokens: 9,
    });
    expect(first.choices[0]).toMatchObject({
      message: { role: "assistant", content: "look" },
      finish_reason: "stop",
    });
    expect(first.usage).toEqual({ prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 });
    messages.push(first.choices[0]!.message, user("page"));
    await openai.chat.completions.create({ model: "gpt-4o", messages, stop: ["!"] });
    const { sequences, tally } = await rollout.close();
    expect(texts(sequences)).toEqual([
      ["prompt: hi\n", "policy: look", "observation: \npage\n", "policy: found"],
    ]);
    expect(sequences[0]?.segments[1]).toMatchObject({
      tokens: [...tokenizer.encode("look"), 256],
      logprobs: [-1, -1, -1, -1, -1],
      ...{ finish: "eos", version: 0 },
    });
    expect(tally).toMatchObject({ calls: 2, failed: 0, rewritten: 0 });
    // The run's decoding, the agent's limit and stop strings; one sequence for the sampler's cache.
    expect(sampler.requests.map(({ params }) => [params.temperature, params.maxTokens, params.stop])).toEqual(
      [
        [0.7, 9, []],
        [0.7, 1_000_000 - 14, ["!"]],
      ],
    );
    expect(new Set(sampler.requests.map(({ sequence }) => sequence)).size).toBe(1);
    expect(sampler.released).toEqual([sampler.requests[0]?.sequence]);
  });

  it("streams the answer, with usage when asked", async () => {
    const { rollout, openai } = toyRollout(proxy, lines(["streamed"]));
    const stream = await openai.chat.completions.create({
      ...{ model: "m", messages: [user("hi")] },
      ...{ stream: true, stream_options: { include_usage: true } },
    });
    let [text, reason, tokens]: [string, string | null, number | undefined] = ["", null, undefined];
    for await (const { choices, usage } of stream) {
      text += choices[0]?.delta.content ?? "";
      reason = choices[0]?.finish_reason ?? reason;
      tokens = usage?.completion_tokens ?? tokens;
    }
    expect([text, reason, tokens]).toEqual(["streamed", "stop", 9]);
    expect(texts((await rollout.close()).sequences)).toEqual([["prompt: hi\n", "policy: streamed"]]);
  });

  it("a stop string is the policy's and stays in the record, and not in the agent's text", async () => {
    const { rollout, openai } = toyRollout(proxy, lines(["ask</q> and more", "b"]));
    const first = await openai.chat.completions.create({ model: "m", messages: [user("hi")], stop: "</q>" });
    expect(first.choices[0]).toMatchObject({ message: { content: "ask" }, stop_reason: "</q>" });
    await openai.chat.completions.create({
      model: "m",
      messages: [user("hi"), first.choices[0]!.message, user("c")],
    });
    const { sequences } = await rollout.close();
    expect(texts(sequences)).toEqual([
      ["prompt: hi\n", "policy: ask</q>", "observation: \nc\n", "policy: b"],
    ]);
  });

  it("n choices are n sequences, drawn by seeds of their own", async () => {
    const { rollout, openai, sampler } = toyRollout(proxy, () => "x");
    const { choices } = await openai.chat.completions.create({ model: "m", messages: [user("hi")], n: 3 });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect((await rollout.close()).sequences).toHaveLength(3);
    expect(new Set(sampler.requests.map(({ sequence }) => sequence)).size).toBe(3);
  });

  it("tool calls are read from the text, and a tool loop is one sequence", async () => {
    const chat = templateChat({
      source:
        "{% if tools %}{{ tools | length }} tool{% endif %}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</tool_call>{% endfor %}{% endif %}<eos>{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}",
      ...{ bosToken: "", eosToken: "<eos>", where: "test" },
    });
    const call = '<tool_call>{"name":"search", "arguments":{"q":"mill"}}</tool_call>';
    const { rollout, openai } = toyRollout(proxy, lines([call, "Renn"]), { chat });
    const tools = [{ type: "function" as const, function: { name: "search", parameters: {} } }];
    const first = await openai.chat.completions.create({ model: "m", messages: [user("who")], tools });
    const message = first.choices[0]!.message;
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    expect(message).toMatchObject({
      content: null,
      tool_calls: [{ function: { name: "search", arguments: '{"q":"mill"}' } }],
    });
    const result = { role: "tool" as const, tool_call_id: message.tool_calls![0]!.id, content: "by Renn" };
    await openai.chat.completions.create({ model: "m", messages: [user("who"), message, result], tools });
    const { sequences } = await rollout.close();
    expect(texts(sequences)).toEqual([
      [
        "prompt: 1 tool[user]who<eos>[assistant]",
        `policy: ${call}`,
        "observation: [tool]by Renn<eos>[assistant]",
        "policy: Renn",
      ],
    ]);
  });

  it("a history that the agent rewrote begins a sequence", async () => {
    const { rollout, openai } = toyRollout(proxy, () => "x");
    await openai.chat.completions.create({ model: "m", messages: [user("hi")] });
    await openai.chat.completions.create({ model: "m", messages: [user("summary of hi and x")] });
    expect((await rollout.close()).sequences).toHaveLength(2);
  });
});

describe("completions", () => {
  it("text that goes on from what was written joins it", async () => {
    const { rollout, openai } = toyRollout(proxy, lines([{ text: "ab", finish: "length" }, "c"]));
    const first = await openai.completions.create({ model: "m", prompt: "Q:", max_tokens: 2, logprobs: 0 });
    expect(first.choices[0]).toMatchObject({
      ...{ text: "ab", finish_reason: "length" },
      logprobs: { tokens: ["a", "b"], token_logprobs: [-1, -1] },
    });
    await openai.completions.create({ model: "m", prompt: "Q:ab seen ", max_tokens: 5 });
    expect(texts((await rollout.close()).sequences)).toEqual([
      ["prompt: Q:", "policy: ab", "observation:  seen ", "policy: c"],
    ]);
  });

  it("takes ids, gives ids, and streams", async () => {
    const { rollout, openai } = toyRollout(proxy, lines(["b"]));
    const stream = await openai.completions.create({
      ...{ model: "m", prompt: [65, 66], stream: true as const },
      ...({ return_token_ids: true } as object),
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk.choices[0]);
    expect(chunks[0]).toMatchObject({ text: "b", token_ids: [98, 256], prompt_token_ids: [65, 66] });
    expect(chunks.at(-1)).toMatchObject({ text: "", finish_reason: "stop" });
    expect(texts((await rollout.close()).sequences)).toEqual([["prompt: AB", "policy: b"]]);
  });
});

describe("what an agent may get wrong", () => {
  const cases: [string, object, RegExp][] = [
    ["no messages", { messages: [] }, /messages/],
    ["an image", { messages: [{ role: "user", content: [{ type: "image_url" }] }] }, /type image_url/],
    [
      "a forced format",
      { messages: [user("x")], response_format: { type: "json_object" } },
      /response_format/,
    ],
    [
      "tools without a template",
      { messages: [user("x")], tools: [{ type: "function" }] },
      /does not show tools/,
    ],
    ["no tokens", { messages: [user("x")], max_tokens: 0 }, /max_tokens/],
  ];
  it.each(cases)("%s: 400 with the reason, and nothing recorded", async (_, body, message) => {
    const { rollout, post } = toyRollout(proxy, () => "x");
    const answer = await post("/chat/completions", body);
    expect(answer).toMatchObject({ status: 400, body: { error: { type: "BadRequestError" } } });
    expect(JSON.stringify(answer.body)).toMatch(message);
    const { tally, sequences, failure } = await rollout.close();
    expect([tally.calls, tally.failed, sequences, failure]).toEqual([0, 0, [], undefined]);
  });

  it("a prompt that does not fit: 400 as the API says it, counted", async () => {
    const sampler = scriptedSampler(tokenizer, () => "x", { contextTokens: 4 });
    const { rollout, openai } = toyRollout(proxy, () => "x", { sampler });
    const call = openai.chat.completions.create({ model: "m", messages: [user("long")] });
    await expect(call).rejects.toMatchObject({ status: 400, code: "context_length_exceeded" });
    expect((await rollout.close()).tally.full).toBe(1);
  });

  it("ids outside the vocabulary, broken JSON, unknown paths and rollouts", async () => {
    const { rollout, post } = toyRollout(proxy, () => "x");
    expect((await post("/completions", { prompt: [9999] })).status).toBe(400);
    expect((await fetch(`${rollout.baseUrl}/completions`, { method: "POST", body: "{" })).status).toBe(400);
    expect((await post("/embeddings", {})).status).toBe(404);
    expect((await post("/completions", { prompt: "x" }, `${proxy.url}/rollouts/nobody/v1`)).status).toBe(404);
    expect((await post("/rollouts", {}, proxy.url)).status).toBe(404);
    await rollout.close();
  });

  it("an id that is taken, now or before", async () => {
    const { rollout } = toyRollout(proxy, () => "x", { id: "one/two" });
    expect(rollout.baseUrl).toContain("one%2Ftwo");
    expect(() => toyRollout(proxy, () => "x", { id: "one/two" })).toThrow(/one\/two already/);
    await rollout.close();
    expect(() => toyRollout(proxy, () => "x", { id: "one/two" })).toThrow(/already/);
  });
});

it("an API key, when there is one, is needed", async () => {
  const locked = await startProxy({ apiKey: "secret" });
  const { rollout, openai } = toyRollout(locked, () => "x");
  const body = { model: "m", messages: [user("hi")] };
  await expect(openai.chat.completions.create(body)).rejects.toMatchObject({ status: 401 });
  const { choices } = await clientOf(rollout, "secret").openai.chat.completions.create(body);
  expect(choices[0]?.message.content).toBe("x");
  await locked.close();
  expect((await rollout.finished).tally.calls).toBe(1);
});

it("lists the policy as a model", async () => {
  const { rollout, openai } = toyRollout(proxy, () => "x");
  expect((await openai.models.list()).data[0]).toMatchObject({ id: "policy", max_model_len: 1_000_000 });
  await rollout.close();
});

it("a port that is taken is the user's mistake", async () => {
  const port = Number(new URL(proxy.url).port);
  await expect(startProxy({ port })).rejects.toThrow(ConfigError);
  await expect(startProxy({ port })).rejects.toThrow(/EADDRINUSE.*another port/);
});
