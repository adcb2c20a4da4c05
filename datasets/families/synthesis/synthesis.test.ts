import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rng } from "../../../core/rng.ts";
import { followSynthesis, synthesisPath } from "./follow.ts";
import { synthesisFamily } from "./synthesis.ts";

const family = synthesisFamily(1);
const long = synthesisFamily(1, { passages: "question", sentences: 30 });
const key = fc.record({
  split: fc.constantFrom("train" as const, "dev" as const, "test" as const),
  level: fc.integer({ min: 1, max: 3 }),
  index: fc.nat(100_000),
});

/** Reads the pages as a person does: the number of a thing now, not in the old days. */
function numberIn(page: string, thing: string): number {
  const sentences = page.split(/ [.:] /u).filter((each) => each.split(" ").includes(thing));
  const now = sentences.filter((each) => !/old days|long ago/.test(each));
  expect(now).toHaveLength(1);
  return Number(/\d+/.exec(now[0] as string)?.[0]);
}

function solve(question: string, pages: ReadonlyMap<string, string>): string {
  const asked = question.split("\n").at(-1) as string;
  const thing = /lamps|wells|mills|boats|towers|bridges/.exec(asked)?.[0] as string;
  const read = asked
    .split(" ")
    .filter((word) => pages.has(word))
    .map((place) => ({ place, number: numberIn(pages.get(place) as string, thing) }));
  const rising = [...read].sort((a, b) => a.number - b.number);
  const over = /more than (\d+)/.exec(asked)?.[1];
  if (over !== undefined) return `${read.filter(({ number }) => number > Number(over)).length} towns`;
  if (asked.includes("together")) return `${read.reduce((sum, { number }) => sum + number, 0)} ${thing}`;
  if (asked.startsWith("name")) return rising.map(({ place }) => place).join(" , ");
  return rising.at(asked.includes(" most ") ? -1 : 0)?.place as string;
}

const corpus = new Map(family.passages.map(({ title, text }) => [title, text]));

describe("synthesis", () => {
  it("law: its answer is what a reader of the pages comes to, also when perturbed", () => {
    fc.assert(
      fc.property(key, fc.nat(), (each, seed) => {
        const { task, plan } = family.task(each);
        for (const { task: asked, plan: solved } of [{ task, plan }, family.perturb(task.id, rng(seed))]) {
          expect(solve(asked.question, corpus)).toBe(solved.answer);
          expect(asked.supportingIds).toHaveLength(each.level + 1);
          for (const id of asked.supportingIds ?? [])
            expect(family.passages.some((passage) => passage.id === id)).toBe(true);
        }
      }),
      { numRuns: 150, seed: 1 },
    );
  });

  it("has its pages in the question as a long context, and no page of anything else", () => {
    fc.assert(
      fc.property(key, (each) => {
        const { task, plan } = long.task(each);
        const shown = task.question.split("\n").slice(0, -1);
        const pages = new Map(shown.map((page) => [page.split(" ")[0] as string, page]));
        expect(pages.size).toBe(each.level + 1);
        expect(solve(task.question, pages)).toBe(plan.answer);
        for (const page of shown) expect(page.match(/ \./g)).toHaveLength(30);
        expect(plan.steps.some(({ passageId }) => passageId !== undefined)).toBe(false);
      }),
      { numRuns: 40, seed: 2 },
    );
  });

  it("asks in each split about places of its own, in each of five ways", () => {
    const named = (split: "train" | "test") =>
      new Set(
        Array.from({ length: 200 }, (_, index) => family.task({ split, level: 2, index })).flatMap(
          ({ plan }) => plan.problem.places.map(({ name }) => name),
        ),
      );
    const train = named("train");
    expect([...named("test")].filter((name) => train.has(name))).toEqual([]);
    const kinds = Array.from({ length: 100 }, (_, index) => family.task({ split: "train", level: 1, index }));
    expect(new Set(kinds.map(({ plan }) => plan.problem.combination.kind)).size).toBe(5);
  });

  it("follows any path: combines what it read and nothing else", () => {
    const solved = Array.from({ length: 40 }, (_, index) => family.task({ split: "train", level: 2, index }));
    const { problem } =
      solved.find(({ plan }) => plan.problem.combination.kind === "sum")?.plan ?? solved[0]!.plan;
    const [first, second, third, sum] = synthesisPath(problem) as [string, string, string, string];
    const [a, b, c] = problem.places.map(({ has }) => has[problem.thing]) as [number, number, number];
    const unit = problem.thing;
    expect(followSynthesis(problem, [first, third, sum]).answer).toBe(`${a + c} ${unit}`);
    expect(followSynthesis(problem, [first, first, "hm", sum])).toEqual({
      works: [`${first} : ${a}`, `sum : ${a} is ${a}`],
      answer: `${a} ${unit}`,
    });
    expect(followSynthesis(problem, [first, second]).answer).toBe(`${b} ${unit}`);
    expect(followSynthesis(problem, []).works).toEqual([]);
    const misread = problem.places[0]?.had[unit] as number;
    expect(followSynthesis(problem, [first, second, third, sum], 0).answer).toBe(
      `${misread + b + c} ${unit}`,
    );
  });

  it("sees which constraint is broken", () => {
    for (let index = 0; index < 30; index++) {
      const { task, plan } = family.task({ split: "train", level: 1, index });
      const steps = plan.steps.map(({ work }) => work);
      const broken = (answer: string, written = steps.join(" ; ")) =>
        family.checkConstraints(task, answer, written).filter(({ kept }) => !kept);
      expect(broken(plan.answer)).toEqual([]);
      expect(broken(plan.answer, steps.slice(1).join(" ; "))).toMatchObject([
        { constraint: "every passage", detail: plan.steps[0]?.path },
      ]);
      expect(broken("7 lamp posts")).toMatchObject([{ constraint: plan.constraints[1] }]);
    }
  });
});
