import type OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { bytes, closeServed, served } from "./api-toys.ts";

afterEach(closeServed);

describe("chat", () => {
  const messages = [{ role: "user" as const, content: "What is the capital?" }];

  test("a message, its logprobs, its ids", async () => {
    const { client } = await served();
    const reply = await client.chat.completions.create({
      ...{ model: "base", messages, logprobs: true, top_logprobs: 1, max_completion_tokens: 5 },
      ...{ return_token_ids: true },
    });
    expect(reply.choices[0]).toMatchObject({
      message: { role: "assistant", content: "It is" },
      finish_reason: "length",
      token_ids: bytes("It is"),
    });
    const [first] = reply.choices[0]?.logprobs?.content ?? [];
    expect(first).toMatchObject({ token: "I", bytes: [73], top_logprobs: [{ token: "I", bytes: [73] }] });
  });

  test("without a limit the answer ends where it ends; content may come in parts", async () => {
    const { client } = await served();
    const parts = [{ type: "text" as const, text: "the capital" }];
    const reply = await client.chat.completions.create({
      ...{ model: "base", messages: [{ role: "user", content: parts }] },
    });
    expect(reply.choices[0]?.message.content).toBe("It is Paris, of course.");
  });

  test("a stream begins with the role", async () => {
    const { client } = await served();
    const stream = await client.chat.completions.create({ model: "base", messages, stream: true });
    const deltas: OpenAI.ChatCompletionChunk.Choice.Delta[] = [];
    for await (const { choices } of stream) deltas.push(...choices.map(({ delta }) => delta));
    expect(deltas[0]).toEqual({ role: "assistant", content: "" });
    expect(deltas.map(({ content }) => content).join("")).toBe("It is Paris, of course.");
  });
});
