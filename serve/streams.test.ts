import type OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { closeServed, complete, type Extra, served, until } from "./api-toys.ts";
import { parseStubScript } from "./stub-script.ts";

afterEach(closeServed);

describe("streams", () => {
  test("the pieces are the whole; prompt ids in the first chunk only; usage last", async () => {
    const { client } = await served();
    const asked = { model: "base", prompt: "capital?", max_tokens: 64, logprobs: 0, return_token_ids: true };
    const whole = await complete(client, asked);
    const stream = await client.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    } as OpenAI.CompletionCreateParamsStreaming);
    const chunks: OpenAI.Completion[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const last = chunks.pop();
    expect(last).toMatchObject({ choices: [], usage: { prompt_tokens: 8, completion_tokens: 24 } });
    const parts = chunks.flatMap(({ choices }) => choices as (OpenAI.CompletionChoice & Extra)[]);
    expect(parts.map(({ text }) => text).join("")).toBe(whole.choices[0]?.text);
    expect(parts.flatMap(({ token_ids }) => token_ids ?? [])).toEqual(whole.choices[0]?.token_ids);
    expect(parts.flatMap(({ logprobs }) => logprobs?.text_offset ?? [])).toEqual(
      whole.choices[0]?.logprobs?.text_offset,
    );
    expect(parts.map((each) => each.prompt_token_ids !== null)).toEqual([true, ...Array(23).fill(false)]);
    expect(parts.map(({ finish_reason }) => finish_reason)).toEqual([...Array(23).fill(null), "stop"]);
  });

  test("no part of a stop string ever leaves", async () => {
    const { client } = await served();
    const stream = await client.completions.create({
      ...{ model: "base", prompt: "capital?", max_tokens: 64, stream: true, stop: ["Paris"] },
    });
    const texts: string[] = [];
    for await (const { choices } of stream) texts.push(choices[0]?.text ?? "");
    expect(texts.join("")).toBe("It is ");
    expect(texts.some((text) => text.includes("P"))).toBe(false);
  });

  test("a character of two units is never cut in two by what is held back", async () => {
    const { client } = await served({ script: parseStubScript({ lines: [{ say: "a😀b😀c😀d" }] }) });
    const stream = await client.completions.create({
      ...{ model: "base", prompt: "x", max_tokens: 64, stream: true, stop: ["🙈"] },
    });
    const texts: string[] = [];
    for await (const { choices } of stream) texts.push(choices[0]?.text ?? "");
    expect(texts.join("")).toBe("a😀b😀c😀d");
  });

  test("every choice of a stream is told apart by its index", async () => {
    const { client } = await served();
    const stream = await client.completions.create({
      ...{ model: "base", prompt: ["tell me", "or me"], n: 2, seed: 1, max_tokens: 40, stream: true },
    });
    const texts = new Map<number, string>();
    for await (const { choices } of stream)
      for (const { index, text } of choices) texts.set(index, (texts.get(index) ?? "") + text);
    const whole = await complete(client, { prompt: ["tell me", "or me"], n: 2, seed: 1, max_tokens: 40 });
    expect([0, 1, 2, 3].map((index) => texts.get(index))).toEqual(whole.choices.map(({ text }) => text));
  });
});

describe("who goes away is not worked for", () => {
  test.each([false, true])("stream: %s", async (stream) => {
    const { stub, client } = await served({ tokensPerSecond: 20 });
    const leave = new AbortController();
    let told = 0;
    const asked = (async () => {
      const body = { model: "base", prompt: "capital?", max_tokens: 10_000, ignore_eos: true, stream };
      const reply = await client.completions.create(body as OpenAI.CompletionCreateParams, {
        signal: leave.signal,
      });
      if (stream) for await (const _ of reply as AsyncIterable<unknown>) if (++told === 2) leave.abort();
    })().catch((error: unknown) => error);
    await until(() => stub.model.load().running === 1);
    if (!stream) leave.abort();
    await asked;
    await until(() => stub.model.load().running === 0);
    const metrics = await (await fetch(`${stub.url}/metrics`)).text();
    expect(metrics).toContain(
      'vllm:request_success_total{engine="0",finished_reason="abort",model_name="base"} 1',
    );
  });

  test("closing the server breaks off what is under way", async () => {
    const { stub, client } = await served({ latencyMs: 60_000 });
    const asked = complete(client, {}).catch((error: unknown) => error);
    await until(() => stub.model.load().running === 1);
    await stub.close();
    expect(await asked).toBeInstanceOf(Error);
    await until(() => stub.model.load().running === 0);
  });
});
