import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rng } from "../../../core/rng.ts";
import { arithmeticFamily } from "./arithmetic.ts";
import { followArithmetic } from "./follow.ts";
import { pathOf } from "./problem.ts";

const family = arithmeticFamily(1);
const key = fc.record({
  split: fc.constantFrom("train" as const, "test" as const),
  level: fc.integer({ min: 1, max: 4 }),
  index: fc.nat(100_000),
});

/** Reads a story as a person does, with nothing but its words. */
function solve(question: string): string {
  const sentences = question.split(" . ");
  const asked = sentences.pop() as string;
  const unit = /^how many (?:more )?(\w+)/.exec(asked)?.[1] as string;
  const has = new Map<string, number>();
  for (const sentence of sentences) {
    const who = sentence.split(" ")[0] as string;
    const n = Number(/\d+/.exec(sentence)?.[0]);
    const before = has.get(who);
    if (!sentence.split(" ").includes(unit) || /also|only/.test(sentence)) continue;
    if (before === undefined) has.set(who, n);
    else if (/finds|buys|gets/.test(sentence)) has.set(who, before + n);
    else if (/loses|sells|gives/.test(sentence)) has.set(who, before - n);
    else if (/times/.test(sentence)) has.set(who, before * n);
    else has.set(who, before / n);
  }
  const people = [...has.keys()].filter((who) => asked.split(" ").includes(who));
  const [first = 0, second = 0] = people
    .sort((a, b) => asked.indexOf(a) - asked.indexOf(b))
    .map((who) => has.get(who) as number);
  const value = asked.includes(" more ") ? first - second : first + second;
  return `${value} ${unit}`;
}

describe("arithmetic", () => {
  it("law: its answer is what a reader of the question comes to, also when perturbed", () => {
    fc.assert(
      fc.property(key, fc.nat(), (each, seed) => {
        const { task, plan } = family.task(each);
        expect(solve(task.question)).toBe(plan.answer);
        expect(plan.steps).toHaveLength(each.level + 1);
        const other = family.perturb(task.id, rng(seed));
        expect(solve(other.task.question)).toBe(other.plan.answer);
        expect(other.plan.steps).toHaveLength(each.level + 1);
      }),
      { numRuns: 150, seed: 1 },
    );
  });

  it("law: no number is larger than is asked for, also when perturbed; the default's tasks are not among them", () => {
    const small = arithmeticFamily(1, { numbers: 30 });
    fc.assert(
      fc.property(key, fc.nat(), (each, seed) => {
        const first = small.task(each);
        for (const { task, plan } of [first, small.perturb(first.task.id, rng(seed))]) {
          const written = `${task.question} ${plan.steps.map(({ work }) => work).join(" ")} ${plan.answer}`;
          expect(Math.max(...(written.match(/\d+/g) ?? []).map(Number))).toBeLessThanOrEqual(30);
          expect(small.planned(task.id).task.question).toBe(task.question);
          expect(() => family.planned(task.id)).toThrow("no such task in this family");
        }
      }),
      { numRuns: 100, seed: 3 },
    );
  });

  it("law: whoever leaves a step out, or gets one wrong, comes to another answer", () => {
    fc.assert(
      fc.property(key, (each) => {
        const { problem, answer } = family.task(each).plan;
        const path = pathOf(problem);
        path.forEach((_, at) => {
          expect(followArithmetic(problem, path.toSpliced(at, 1)).answer).not.toBe(answer);
        });
        const last = path.length - 1;
        expect(followArithmetic(problem, path, { at: last, by: 1 }).answer).not.toBe(answer);
      }),
      { numRuns: 100, seed: 2 },
    );
  });

  it("follows any path: passes over what is no step, and stops at what does not come out", () => {
    const problem = {
      unit: "pens",
      starts: [{ who: "ana", number: 7 }],
      moves: [],
      asked: { kind: "has" as const, who: "ana" },
      distractors: [],
    };
    const follow = (...path: string[]) => followArithmetic(problem, path);
    expect(follow().answer).toBe("7 pens");
    expect(
      follow("ana plus 3", "ben plus 1", "ana toString 3", "", "ana plus 3 4", "ana times 2"),
    ).toMatchObject({
      worked: [{ text: "ana plus 3 : 7 plus 3 is 10" }, { text: "ana times 2 : 10 times 2 is 20" }],
      answer: "20 pens",
    });
    for (const bad of ["ana minus 8", "ana over 2", "ana over 0", "ana times 99"])
      expect(follow("ana plus 0", bad, "ana plus 1").answer).toBe("7 pens");
  });

  it("sees which constraint is broken", () => {
    const { task, plan } = family.task({ split: "train", level: 2, index: 1 });
    const steps = plan.steps.map(({ work }) => work);
    const broken = (answer: string, written = steps.join(" ; ")) =>
      family.checkConstraints(task, answer, written).filter(({ kept }) => !kept);
    const [unit, whole, every] = plan.constraints;
    expect(broken(plan.answer)).toEqual([]);
    expect(broken(plan.answer.split(" ")[0] as string)).toMatchObject([{ constraint: unit }]);
    expect(broken(`-${plan.answer}`)).toMatchObject([{ constraint: whole }]);
    expect(broken(plan.answer, `${steps.join(" ; ")} is 2.5`)).toMatchObject([
      { constraint: whole, detail: "2.5" },
    ]);
    expect(broken(plan.answer, steps.slice(1).join(" ; "))).toEqual([
      { constraint: every, kept: false, detail: plan.steps[0]?.path },
    ]);
  });

  it("reads like this", () => {
    expect(family.task({ split: "train", level: 3, index: 4 })).toMatchInlineSnapshot(`
      {
        "plan": {
          "answer": "39 shells",
          "constraints": [
            "answer in shells",
            "whole numbers",
            "every step",
          ],
          "problem": {
            "asked": {
              "kind": "more",
              "other": "mia",
              "who": "leo",
            },
            "distractors": [],
            "moves": [
              {
                "number": 20,
                "operator": "plus",
                "who": "leo",
                "wording": 0,
              },
              {
                "number": 8,
                "operator": "plus",
                "who": "leo",
                "wording": 1,
              },
              {
                "number": 4,
                "operator": "over",
                "who": "mia",
                "wording": 0,
              },
            ],
            "starts": [
              {
                "number": 18,
                "who": "leo",
              },
              {
                "number": 28,
                "who": "mia",
              },
            ],
            "unit": "shells",
          },
          "steps": [
            {
              "conditions": [
                "leo has 18 shells",
                "leo finds 20 shells",
              ],
              "path": "leo plus 20",
              "work": "leo plus 20 : 18 plus 20 is 38",
            },
            {
              "conditions": [
                "leo buys 8 shells",
              ],
              "path": "leo plus 8",
              "work": "leo plus 8 : 38 plus 8 is 46",
            },
            {
              "conditions": [
                "mia has 28 shells",
                "mia makes 4 equal shares of the shells and keeps one",
              ],
              "path": "mia over 4",
              "work": "mia over 4 : 28 over 4 is 7",
            },
            {
              "conditions": [],
              "path": "leo minus mia",
              "work": "leo minus mia : 46 minus 7 is 39",
            },
          ],
        },
        "task": {
          "dataset": "arithmetic",
          "goldenAnswers": [
            "39 shells",
          ],
          "hops": 3,
          "id": "arithmetic-1/train/3/4",
          "question": "leo has 18 shells . mia has 28 shells . leo finds 20 shells . leo buys 8 shells . mia makes 4 equal shares of the shells and keeps one . how many more shells does leo have now than mia ?",
        },
      }
    `);
  });
});
