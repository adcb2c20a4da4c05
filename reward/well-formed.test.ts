import { describe, expect, test } from "vitest";
import { isWellFormed } from "./well-formed.ts";

const search = "<search>q</search>";
const answer = "<answer>x</answer>";

describe("isWellFormed", () => {
  test.each([
    ["one answer", [answer]],
    ["searches, then the answer", [`so ${search}`, search, `hence ${answer}\n`]],
    ["thoughts before the action", [`<think>a <answer>draft</answer> b</think> ${search}`, answer]],
    ["two thoughts", [`<think>a</think><think>b</think>${answer}`]],
  ])("yes: %s", (_, turns) => expect(isWellFormed(turns)).toBe(true));

  test.each([
    ["nothing said", []],
    ["an empty turn", [search, ""]],
    ["no action", ["it is x"]],
    ["no answer at the end", [search, search]],
    ["an answer before the end", [answer, answer]],
    ["two answers in a turn", [`${answer}${answer}`]],
    ["a search and an answer in a turn", [`${search}${answer}`]],
    ["text behind the action", [`${answer} and so on`]],
    ["an empty query", ["<search> </search>", answer]],
    ["an empty answer", ["<answer></answer>"]],
    ["an unclosed answer", ["<answer>x"]],
    ["an unclosed thought", [`<think>a ${answer}`]],
    ["a stray closing tag", [`</search> ${answer}`]],
    ["a nested action", ["<answer><search>q</search>x</answer>"]],
    ["a thought in an answer", ["<answer><think>a</think>x</answer>"]],
    ["a thought behind the action", [`${answer}<think>a</think>`]],
    ["an observation of its own making", [`<information>x</information>${answer}`]],
    ["only thought about", [`<think>${answer}</think>`]],
  ])("no: %s", (_, turns) => expect(isWellFormed(turns)).toBe(false));

  test("thinkFirst: one thought and one action, white space alone around them", () => {
    const rules = { thinkFirst: true };
    expect(isWellFormed([`<think>a</think>\n${search}`, `<think>b</think>${answer}`], rules)).toBe(true);
    for (const turn of [
      answer,
      `a <think>b</think>${answer}`,
      `<think>b</think> c ${answer}`,
      `<think>a</think><think>b</think>${answer}`,
    ])
      expect(isWellFormed([turn], rules)).toBe(false);
  });

  test("maxAnswerWords counts the answer's words alone", () => {
    expect(isWellFormed(["long thoughts <answer> a b </answer>"], { maxAnswerWords: 2 })).toBe(true);
    expect(isWellFormed(["<answer>a b c</answer>"], { maxAnswerWords: 2 })).toBe(false);
  });
});
