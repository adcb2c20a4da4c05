import { expect, test } from "vitest";
import { plainChat, templateChat } from "./chat.ts";
import { segmentsOf } from "./stored-episode.ts";
import { byteTokenizer, toyRenderer } from "./testing.ts";
import type { Segment } from "./trajectory.ts";

const tokenizer = byteTokenizer();
/** Leaves out what was thought in all turns but the last, as Qwen3's does, and shows tools. */
const template = {
  source:
    "{% if tools %}tools:{{ tools|length }} {% endif %}{% for m in messages %}[{{ m.role }}]{{ m.content.split('</think>')[-1] if not loop.last else m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function.name }}</tool_call>{% endfor %}<eos>{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}",
  bosToken: "",
  eosToken: "<eos>",
  where: "toy",
};
const reader = {
  ...{ tokenizer, renderer: toyRenderer(tokenizer), chat: templateChat(template) },
  observation: { open: "<information> ", close: " </information>", maxTokens: 60 },
};
const shown = (segments: readonly Segment[]) =>
  segments.map(({ source, tokens }) => `${source}: ${tokenizer.decode(tokens)}`);

test("an agent's chat: each message in its frame, turns whole with their thoughts, and the ends of turns are learnt", () => {
  const messages = [
    { role: "user", content: "who?" },
    { role: "assistant", content: "<think>a</think>look" },
    { role: "user", content: "seen" },
    { role: "assistant", content: "wrong", train: false },
    { role: "user", content: "no" },
    { role: "assistant", content: "<think>b</think>Ada" },
    { role: "user", content: "thanks" },
  ] as const;
  const segments = segmentsOf({ id: "1", chat: { messages } }, reader);
  expect(shown(segments)).toEqual([
    "prompt: [user]who?<eos>[assistant]",
    "policy: <think>a</think>look<eos>",
    "observation: [user]seen<eos>[assistant]",
    "injected: wrong<eos>",
    "observation: [user]no<eos>[assistant]",
    "policy: <think>b</think>Ada<eos>",
  ]);
  for (const { source, logprobs, tokens } of segments)
    expect(logprobs?.length).toBe(source === "policy" ? tokens.length : undefined);
});

test("calls are written as models are taught to, what the template writes of them is not repeated", () => {
  const messages = [
    { role: "user", content: "who?" },
    { role: "assistant", content: "hm", calls: [{ name: "search", arguments: '{"query":"x"}' }] },
    { role: "tool", content: "seen" },
    { role: "assistant", content: "Ada" },
  ] as const;
  expect(shown(segmentsOf({ id: "1", chat: { messages, tools: [{}] } }, reader))).toEqual([
    "prompt: tools:1 [user]who?<eos>[assistant]",
    'policy: hm\n<tool_call>\n{"name": "search", "arguments": {"query":"x"}}\n</tool_call><eos>',
    "observation: [tool]seen<eos>[assistant]",
    "policy: Ada<eos>",
  ]);
});

test("a model without a template: a line each", () => {
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "who?" },
    { role: "assistant", content: "Ada" },
  ] as const;
  expect(shown(segmentsOf({ id: "1", chat: { messages } }, { ...reader, chat: plainChat }))).toEqual([
    "prompt: Be brief.\nwho?\n",
    "policy: Ada<eos>",
  ]);
});

test("turns of another project: our prompt before them, our marks around what was found, within the budget", () => {
  const turns = [
    { source: "policy", text: "<search> x </search>" },
    { source: "observation", text: "A long page about Ada Lovelace that goes on.", bare: true },
    { source: "policy", text: "<answer> Ada </answer>" },
    { source: "observation", text: "reward = 1", bare: true },
  ] as const;
  const segments = segmentsOf({ id: "1", question: "who?", turns }, reader);
  expect(shown(segments)).toEqual([
    "prompt: question: who?\n",
    "policy: <search> x </search>",
    "observation: <information> A long page about Ada Lovelace  </information>",
    "policy: <answer> Ada </answer><eos>",
  ]);
  expect(segments[2]!.tokens.length).toBeLessThanOrEqual(60);
});

test("ids outside the vocabulary are refused", () => {
  const ids = { tokenizer: "bytes", tokens: [1, 999], mask: [0, 1] };
  expect(() => segmentsOf({ id: "1", ids }, reader)).toThrow(/outside the vocabulary.*got 999/);
});
