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
  ])("%s", (_, turns, expected) => expect(answersOf(toyTrajectory(turns))).toEqual(expected));

  test("a tag does not run from one turn into the next", () => {
    expect(answersOf(toyTrajectory(["<answer>a", "b</answer>"]))).toEqual([]);
  });

  test("an answer in a passage, a correction or the prompt earns nothing", () => {
    for (const source of ["observation", "injected", "prompt"] as const)
      expect(answersOf(toyTrajectory(["hm", [source, "<answer>Ada Lovelace</answer>"]]))).toEqual([]);
  });
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
