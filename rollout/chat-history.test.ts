import { describe, expect, it } from "vitest";
import { type ChatExtras, type ChatMessage, plainChat, templateChat } from "./chat.ts";
import { ChatHistory } from "./chat-history.ts";
import { byteTokenizer } from "./testing.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Encodes "ab" as one id that bytes do not have, as a BPE would; a policy may sample "a", "b". */
const bytes = byteTokenizer();
const tokenizer: Tokenizer = {
  ...bytes,
  encode: (text) => text.split("ab").flatMap((part, i) => [...(i > 0 ? [250] : []), ...bytes.encode(part)]),
  decode: (ids) => bytes.decode(ids.flatMap((id) => (id === 250 ? [97, 98] : [id]))),
};
const [a, b, eos] = [97, 98, 256];

const chatOf = (turn: string) =>
  templateChat({
    source: `{%- for m in messages %}[{{ m.role }}]${turn}<eos>\n{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`,
    ...{ bosToken: "", eosToken: "<eos>", where: "test" },
  });
const chatml = chatOf("{{ m.content }}");
const user = (content: string): ChatMessage => ({ role: "user", content });
const assistant = (content: string): ChatMessage => ({ role: "assistant", content });

/** A history in which the policy has answered `messages`. */
function answered(
  chat: typeof chatml,
  messages: readonly ChatMessage[],
  {
    text,
    full = text,
    tokens,
    calls,
  }: { text: string; full?: string; tokens: number[]; calls?: ChatMessage["calls"] },
  extras: ChatExtras = {},
) {
  const history = new ChatHistory(chat, tokenizer);
  const prompt = history.prompt(messages, extras);
  const reply = { role: "assistant", content: text, ...(calls && { calls }) };
  history.said(messages, extras, {
    reply,
    full,
    rendered: prompt.rendered,
    tokens: [...prompt.tokens, ...tokens],
  });
  return { history, prompt, all: [...prompt.tokens, ...tokens] };
}

describe("ChatHistory", () => {
  it("renders the first call with the template", () => {
    const { prompt } = answered(chatml, [user("hi")], { text: "ab", tokens: [a, b, eos] });
    expect(tokenizer.decode(prompt.tokens)).toBe("[user]hi<eos>\n[assistant]");
    expect(prompt.rewritten).toBe(false);
  });

  it("keeps the sampled ids of a turn that is sent back, and closes it once", () => {
    const { history, all } = answered(chatml, [user("hi")], { text: "ab", tokens: [a, b, eos] });
    const { tokens, rewritten } = history.prompt([user("hi"), assistant("ab"), user("ab?")], {});
    expect(tokens.slice(0, all.length)).toEqual(all);
    expect(tokens.slice(all.length)).toEqual(tokenizer.encode("\n[user]ab?<eos>\n[assistant]"));
    expect(rewritten).toBe(false);
  });

  it("closes a turn that a stop string or the limit ended, whose stop string may come back or not", () => {
    for (const sent of ["ab", "ab</s>"]) {
      const { history, all } = answered(chatml, [user("hi")], {
        text: "ab",
        full: "ab</s>",
        tokens: [a, b, ...bytes.encode("</s>")],
      });
      const { tokens } = history.prompt([user("hi"), assistant(sent), user("go")], {});
      expect(tokens).toEqual([...all, ...tokenizer.encode("<eos>\n[user]go<eos>\n[assistant]")]);
    }
  });

  it("carries on the longest conversation, turn after turn", () => {
    const { history, all } = answered(chatml, [user("hi")], { text: "ab", tokens: [a, b, eos] });
    const messages = [user("hi"), assistant("ab"), user("more")];
    const second = history.prompt(messages, {});
    const tokens = [...second.tokens, a, b, a, b, eos];
    history.said(messages, {}, { reply: assistant("abab"), full: "abab", rendered: second.rendered, tokens });
    const third = history.prompt([...messages, assistant(" abab\n"), user("end")], {});
    expect(third.tokens.slice(0, tokens.length)).toEqual(tokens);
    expect(third.tokens.slice(0, all.length)).toEqual(all);
  });

  it("encodes anew what is another conversation", () => {
    const { history } = answered(chatml, [user("hi")], { text: "ab", tokens: [a, b, eos] });
    const others: [readonly ChatMessage[], ChatExtras][] = [
      [[user("ho"), assistant("ab"), user("x")], {}],
      [[user("hi"), assistant("abc"), user("x")], {}],
      [[user("hi"), user("ab"), user("x")], {}],
      [[user("hi"), assistant("ab"), user("x")], { variables: { enable_thinking: false } }],
    ];
    for (const [messages, extras] of others) {
      const { tokens, rendered, rewritten } = history.prompt(messages, extras);
      expect(tokens).toEqual(tokenizer.encode(rendered));
      expect(rewritten).toBe(false);
    }
  });

  it.each([
    ["all that was thought", "{{ m.content.split('</think>')[-1] if m.role == 'assistant' else m.content }}"],
    [
      "what was thought before the last turn",
      "{{ m.content.split('</think>')[-1] if m.role == 'assistant' and not loop.last else m.content }}",
    ],
  ])("says so when the template leaves out %s", (_, turn) => {
    const text = "<think>ab</think>c";
    const { history } = answered(chatOf(turn), [user("hi")], { text, tokens: [...bytes.encode(text), eos] });
    const { tokens, rewritten } = history.prompt([user("hi"), assistant(text), user("x")], {});
    expect(rewritten).toBe(true);
    expect(tokenizer.decode(tokens)).toBe("[user]hi<eos>\n[assistant]c<eos>\n[user]x<eos>\n[assistant]");
  });

  it("keeps a turn whose white space the template trims", () => {
    const { history, all } = answered(chatOf("{{ m.content | trim }}"), [user("hi")], {
      text: " ab ",
      tokens: [32, a, b, 32, eos],
    });
    const { tokens, rewritten } = history.prompt([user("hi"), assistant(" ab "), user("x")], {});
    expect(rewritten).toBe(false);
    expect(tokens.slice(0, all.length)).toEqual(all);
  });

  it("keeps a turn that was thought through, though the template gives others an empty thought", () => {
    const chat = chatOf(
      "{% if m.role == 'assistant' and '<think>' not in m.content %}<think></think>{% endif %}{{ m.content }}",
    );
    const text = "<think>ab</think>c";
    const { history, all } = answered(chat, [user("hi")], { text, tokens: [...bytes.encode(text), eos] });
    const { tokens, rewritten } = history.prompt([user("hi"), assistant(text), user("x")], {});
    expect(rewritten).toBe(false);
    expect(tokens).toEqual([...all, ...tokenizer.encode("\n[user]x<eos>\n[assistant]")]);
  });

  it("a template that refuses half a conversation cannot be carried on", () => {
    const strict = chatOf(
      "{% if loop.last and m.role == 'assistant' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}",
    );
    const { history } = answered(strict, [user("hi")], { text: "ab", tokens: [a, b, eos] });
    expect(history.prompt([user("hi"), assistant("ab"), user("x")], {}).rewritten).toBe(true);
  });

  it("keeps tool calls as they were sampled, however the template writes their JSON", () => {
    const hermes = chatOf(
      "{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>\n{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}\n</tool_call>{% endfor %}{% endif %}",
    );
    const extras = { tools: [{ type: "function", function: { name: "search" } }] };
    const said = '<tool_call>{"name":"search","arguments":{"q":   "ab"}}</tool_call>';
    const calls = [{ name: "search", arguments: '{"q":"ab"}' }];
    const turn = { text: "", full: said, tokens: [...bytes.encode(said), eos], calls };
    const { history, all } = answered(hermes, [user("hi")], turn, extras);
    const result: ChatMessage = { role: "tool", content: "found", toolCallId: "call_0" };
    const sent: ChatMessage = {
      role: "assistant",
      content: "",
      calls: [{ name: "search", arguments: '{ "q": "ab" }' }],
    };
    const { tokens, rewritten } = history.prompt([user("hi"), sent, result], extras);
    expect(rewritten).toBe(false);
    expect(tokens).toEqual([...all, ...tokenizer.encode("\n[tool]found<eos>\n[assistant]")]);
    const other = { ...sent, calls: [{ name: "search", arguments: '{"q":"other"}' }] };
    expect(tokenizer.decode(history.prompt([user("hi"), other, result], extras).tokens)).toContain("other");
  });

  it("plain chat: what was said, a line each", () => {
    const { history, all } = answered(plainChat, [user("hi")], { text: "ab", tokens: [a, b, eos] });
    const { tokens } = history.prompt([user("hi"), assistant("ab"), user("x")], {});
    expect(tokens).toEqual([...all, ...bytes.encode("\nx\n")]);
  });
});
