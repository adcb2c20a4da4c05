import { expect, it } from "vitest";
import { byteTokenizer } from "./testing.ts";
import { TextHistory } from "./text-history.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Encodes "ab" as one id that bytes do not have, as a BPE would; a policy may sample "a", "b". */
const bytes = byteTokenizer();
const tokenizer: Tokenizer = {
  ...bytes,
  encode: (text) => text.split("ab").flatMap((part, i) => [...(i > 0 ? [250] : []), ...bytes.encode(part)]),
};
const [a, b, eos] = [97, 98, 256];

it("keeps the ids that were sampled where the text goes on from them", () => {
  const history = new TextHistory(tokenizer);
  expect(history.prompt("Q")).toEqual([81]);
  history.said("Qab", [81, a, b]);
  expect(history.prompt("Qab!")).toEqual([81, a, b, 33]);
  history.said("Qab!ab", [81, a, b, 33, a, b]);
  expect(history.prompt("Qab!abab")).toEqual([81, a, b, 33, a, b, 250]);
  expect(history.prompt("Qba")).toEqual([81, b, a]);
});

it("leaves an end of text out that the agent does not write, and keeps one that it does", () => {
  const history = new TextHistory(tokenizer);
  history.said("Qa", [81, a, eos]);
  expect(history.prompt("Qab")).toEqual([81, a, b]);
  expect(history.prompt("Qa<eos>b")).toEqual([81, a, eos, b]);
});
