import { expect, test } from "vitest";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import { tokenKinds } from "./token-kinds.ts";

const letters: Tokenizer = {
  fingerprint: "letters",
  vocabSize: 128,
  eosIds: [0],
  padId: 0,
  encode: (text) => [...text].map((c) => c.charCodeAt(0)),
  decode: (ids) => String.fromCharCode(...ids),
};

test("a token belongs to the block its text stands in", () => {
  const text = "<think>ab</think><search>q</search>";
  const kinds = tokenKinds({ source: "policy", text, tokens: letters.encode(text) }, letters);
  expect(kinds.filter((k) => k === "think")).toHaveLength("<think>ab</think>".length);
  expect(kinds.filter((k) => k === "query")).toHaveLength("<search>q</search>".length);
});

test("text outside tags is other; a search inside think is thought", () => {
  const text = "x<think><search>q</search></think>";
  const kinds = tokenKinds({ source: "policy", text, tokens: letters.encode(text) }, letters);
  expect(kinds[0]).toBe("other");
  expect(new Set(kinds.slice(1))).toEqual(new Set(["think"]));
});
