import { expect, it } from "vitest";
import { readToolCalls, sameCalls } from "./tool-calls.ts";

const call = (inside: string) => `<tool_call>${inside}</tool_call>`;

it("reads calls, and the text before them", () => {
  const text = `I look.\n${call('\n{"name": "search", "arguments": {"q": "mill", "k": 2}}\n')}\n${call('{"name":"stop"}')}`;
  expect(readToolCalls(text)).toEqual({
    content: "I look.",
    calls: [
      { name: "search", arguments: '{"q":"mill","k":2}' },
      { name: "stop", arguments: "{}" },
    ],
  });
});

it("reads a call that the end of text closed", () => {
  expect(readToolCalls('<tool_call>{"name": "a", "arguments": "{}"}').calls).toEqual([
    { name: "a", arguments: "{}" },
  ]);
});

it.each([
  ["no call", "just text"],
  ["broken JSON", call('{"name": "search", "arguments": {')],
  ["no name", call('{"arguments": {}}')],
  ["no object", call("[1]")],
  ["one good, one bad", call('{"name": "a"}') + call("oops")],
])("leaves text as it is: %s", (_, text) => {
  expect(readToolCalls(text)).toEqual({ content: text, calls: [] });
});

it("compares calls by value", () => {
  expect(sameCalls([{ name: "a", arguments: '{"x": 1}' }], [{ name: "a", arguments: '{"x":1}' }])).toBe(true);
  expect(sameCalls([{ name: "a", arguments: '{"x": 1}' }], [{ name: "a", arguments: '{"x":2}' }])).toBe(
    false,
  );
  expect(sameCalls([{ name: "a", arguments: "oops" }], [{ name: "a", arguments: "oops" }])).toBe(true);
  expect(sameCalls([], [{ name: "a", arguments: "{}" }])).toBe(false);
});
