import { describe, expect, it } from "vitest";
import { rng } from "../../../core/rng.ts";
import { debuggingFamily } from "./debugging.ts";
import { followDebugging } from "./follow.ts";
import { runSource } from "./interpreter.ts";

const family = debuggingFamily(1);
const tasks = (n: number) =>
  [1, 2, 3, 4, 5].flatMap((level) =>
    Array.from({ length: level > 3 ? 1 : n }, (_, index) => family.task({ split: "train", level, index })),
  );

const kinds = [["plus", "minus", "times"], ["less", "more", "same"], ["n", "x", "y", "z"], [..."123456789"]];

/** Every answer that changes one word in each of `bugs` lines and makes all cases right, from the question's words alone. */
function answersTo(question: string): string[] {
  const lines = Array.from(question.matchAll(/^line \d+ : (.*)$/gm), ([, line]) => line as string);
  const cases = Array.from(question.matchAll(/print (\d+) for n (\d+)/g), ([, print, n]) => [
    Number(n),
    Number(print),
  ]);
  const bugs = Number(/ in (\d) line/.exec(question)?.[1]);
  const right = (program: readonly string[]) =>
    cases.every(([n, print]) => {
      const result = runSource(program.join("\n"), { n: n as number });
      return result.ok && result.output.length === 1 && result.output[0] === print;
    });
  const changes = lines.flatMap((line, at) => {
    const words = line.split(" ");
    return words.flatMap((old, place) => {
      const kind = words[0] === "set" && place === 2 ? undefined : kinds.find((each) => each.includes(old));
      return (kind ?? [])
        .filter((word) => word !== old)
        .map((word) => ({ at, line: words.with(place, word).join(" ") }));
    });
  });
  const found: string[] = [];
  const search = (from: number, chosen: readonly { at: number; line: string }[]) => {
    const program = chosen.reduce((all, { at, line }) => all.with(at, line), lines);
    if (chosen.length < bugs) {
      changes.slice(from).forEach((change, i) => {
        if (chosen.every(({ at }) => at !== change.at)) search(from + i + 1, [...chosen, change]);
      });
    }
    if (right(program)) found.push(chosen.map(({ at, line }) => `line ${at + 1} : ${line}`).join(" , "));
  };
  search(0, []);
  return found;
}

describe("debugging", () => {
  it("has one answer over all ways to change a word in that many lines or in fewer, also when perturbed", () => {
    for (const { task, plan } of tasks(4)) {
      expect(answersTo(task.question)).toEqual([plan.answer]);
      const other = family.perturb(task.id, rng(1, task.id));
      if (task.hops < 4) expect(answersTo(other.task.question)).toEqual([other.plan.answer]);
    }
  });

  it("needs every case: without one the draft comes to another fix, which only that case shows", () => {
    for (const { task, plan } of tasks(3)) {
      const { cases } = plan.problem;
      expect(cases.length).toBeGreaterThan(1);
      const path = plan.steps.map((step) => step.path);
      expect(followDebugging(plan.problem, path).answer).toBe(plan.answer);
      cases.forEach(({ n, prints }, i) => {
        const { answer, works } = followDebugging(plan.problem, path.toSpliced(i, 1));
        expect(answer).not.toBe(plan.answer);
        expect(works.at(-1)).not.toContain(`case ${n} `);
        for (const other of cases.filter((each) => each.n !== n))
          expect(works.at(-1)).toContain(`case ${other.n} prints ${other.prints}`);
        const lines = task.question
          .split("\n")
          .slice(1)
          .map((line) => line.replace(/^line \d+ : /, ""));
        for (const part of answer.split(" , ")) {
          const [, line, text] = /^line (\d+) : (.*)$/.exec(part) ?? [];
          lines[Number(line) - 1] = text as string;
        }
        const result = runSource(lines.join("\n"), { n });
        expect(result.ok && result.output[0] === prints).toBe(false);
      });
    }
  });

  it("sees which constraint is broken", () => {
    const { task, plan } = family.task({ split: "train", level: 2, index: 1 });
    const steps = plan.steps.map(({ work }) => work);
    const broken = (answer: string, written = steps.join(" ; ")) =>
      family
        .checkConstraints(task, answer, written)
        .filter(({ kept }) => !kept)
        .map(({ constraint }) => constraint);
    expect(broken(plan.answer)).toEqual([]);
    expect(broken(plan.answer, steps.slice(1).join(" ; "))).toEqual(["every case"]);
    expect(broken(plan.answer, steps.slice(0, -1).join(" ; "))).toEqual(["every case"]);
    expect(broken(`${plan.answer} , line 1 : set x to n`)).toContain("change 1 line");
    expect(broken("line 1 : print 3 3")).toEqual(["one word per line"]);
    expect(broken("line 99 : print 3")).toEqual(["one word per line"]);
    expect(broken("12")).toEqual(["change 1 line", "one word per line"]);
  });

  it("reads like this", () => {
    expect(family.task({ split: "train", level: 4, index: 0 }).task).toMatchInlineSnapshot(`
      {
        "dataset": "debugging",
        "goldenAnswers": [
          "line 4 : set y to x times 1 , line 6 : set x to x plus y",
        ],
        "hops": 4,
        "id": "debugging-1/train/4/0",
        "question": "this program must print 16 for n 4 , print 19 for n 9 . in 2 lines one word each is wrong . which lines , and what must each be ?
      line 1 : set x to n plus 4
      line 2 : set y to 6
      line 3 : if n less 6
      line 4 : set y to x plus 1
      line 5 : end
      line 6 : set x to n plus y
      line 7 : print x",
      }
    `);
    expect(family.task({ split: "train", level: 4, index: 0 }).plan.steps).toMatchInlineSnapshot(`
      [
        {
          "conditions": [
            "case 4 must print 16",
          ],
          "path": "case 4",
          "work": "case 4 : must print 16 does 13",
        },
        {
          "conditions": [
            "case 9 must print 19",
          ],
          "path": "case 9",
          "work": "case 9 : must print 19 does 15",
        },
        {
          "conditions": [],
          "path": "locate",
          "work": "locate : line 4 , line 6",
        },
        {
          "conditions": [],
          "path": "fix",
          "work": "fix : line 4 : set y to x times 1 , line 6 : set x to x plus y",
        },
        {
          "conditions": [],
          "path": "check",
          "work": "check : case 4 prints 16 , case 9 prints 19",
        },
      ]
    `);
  });
});
