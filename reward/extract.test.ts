import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answersOf, extractions } from "./extract.ts";
import { toyTrajectory } from "./testing.ts";

describe("answersOf", () => {
  test.each([
    ["one answer, no example in the prompt needed", ["<answer> Paris </answer>"], ["Paris"]],
    ["across turns, in order", ["<answer>a</answer>", "x <answer>b</answer>"], ["a", "b"]],
    ["two in one turn", ["<answer>1</answer><answer>2</answer>"], ["1", "2"]],
    ["a line break inside", ["<answer>a\nb</answer>"], ["a\nb"]],
    ["never inside think", ["<think><answer>X</answer></think><answer>Paris</answer>"], ["Paris"]],
    ["an unclosed think hides the rest", ["<think>so <answer>X</answer>"], []],
    ["an unclosed answer is none", ["<answer>Paris"], []],
    ["an empty answer is one", ["<answer></answer>"], [""]],
    ["no tag at all", ["Paris"], []],
    ["an empty turn", [""], []],
    [
      "nested: the outer and the inner one, in the order they open",
      ["<answer>a <answer>b</answer></answer>"],
      ["a <answer>b</answer>", "b"],
    ],
    [
      "an inner closing tag ends the inner one alone",
      ["<answer>a <search>q</search> b</answer>"],
      ["a <search>q</search> b"],
    ],
    ["a think in an answer", ["<answer><think>a</think> b</answer>"], ["<think>a</think> b"]],
    ["an unclosed one is cut off by the one around it", ["<search><answer>a</search>"], []],
    ["a stray closing tag is text", ["</answer>a<answer>b</answer>"], ["b"]],
    ["an unclosed one before a closed one", ["<answer>a <answer>b</answer>"], ["b"]],
    [
      "quotation marks and code make no difference",
      ['he wrote "<answer>a</answer>" and `<answer>b</answer>`'],
      ["a", "b"],
    ],
    [
      "names are exact: no capitals, no spaces, no attributes",
      ["<Answer>a</Answer>", "< answer>b</ answer>", "<answer id=1>c</answer>", "<answer >d</answer >"],
      [],
    ],
    [
      "case and inner white space of the answer are kept, edges are trimmed",
      ["<answer>\n New  York\t</answer>"],
      ["New  York"],
    ],
    ["entities are text", ["&lt;answer&gt;a&lt;/answer&gt;"], []],
  ])("%s", (_, turns, expected) => expect(answersOf(toyTrajectory(turns))).toEqual(expected));

  test("a tag does not run from one turn into the next", () => {
    expect(answersOf(toyTrajectory(["<answer>a", "b</answer>"]))).toEqual([]);
  });

  test("an answer in a passage, a correction or the prompt earns nothing", () => {
    for (const source of ["observation", "injected", "prompt"] as const)
      expect(answersOf(toyTrajectory(["hm", [source, "<answer>Ada Lovelace</answer>"]]))).toEqual([]);
  });
});

test("several seats: each speaks for itself, in the order of the sequences", () => {
  const one = (text: string) => ({ segments: [{ source: "policy" as const, text }] });
  expect(answersOf({ sequences: [one("<answer>a"), one("b</answer><answer>c</answer>")] })).toEqual(["c"]);
});

test("rules: last, first, and only, where a second answer forfeits both", () => {
  expect(extractions.last(["a", "b"])).toBe("b");
  expect(extractions.first(["a", "b"])).toBe("a");
  expect(extractions.only(["a", "b"])).toBeUndefined();
  expect(extractions.only(["a"])).toBe("a");
  for (const rule of Object.values(extractions)) expect(rule([])).toBeUndefined();
});

test("whatever observations say, the answers are those of the policy's turns alone", () => {
  const text = fc
    .array(fc.constantFrom("<answer>", "</answer>", "<think>", "</think>", "x", "<search>", "</search>"))
    .map((words) => words.join(""));
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text)), (turns) => {
      const alone = answersOf(toyTrajectory(turns.map(([said]) => said)));
      const mixed = answersOf(
        toyTrajectory(turns.flatMap(([said, seen]) => [said, ["observation", seen] as const])),
      );
      expect(mixed).toEqual(alone);
    }),
  );
});
