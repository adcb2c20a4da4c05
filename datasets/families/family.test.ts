import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rng } from "../../core/rng.ts";
import { type FamilyName, families } from "./families.ts";
import type { Family } from "./family.ts";
import { firstTasks, textsOf, unwritable } from "./testing.ts";

const opened: readonly (readonly [name: string, make: (seed: number) => Family])[] = [
  ...(Object.keys(families) as FamilyName[]).map(
    (name) => [name, (seed: number) => families[name](seed) as Family] as const,
  ),
  ["long synthesis", (seed) => families.synthesis(seed, { passages: "question" }) as Family] as const,
];

describe.each(opened)("the family %s", (_name, make) => {
  const family = make(3);
  const levels = Array.from({ length: family.levels }, (_, i) => i + 1);

  it("makes a task from its key alone, and again from its id", () => {
    const fresh = make(3);
    for (const level of levels) {
      const solved = family.task({ split: "dev", level, index: 7 });
      expect(fresh.task({ split: "dev", level, index: 7 })).toEqual(solved);
      expect(fresh.planned(solved.task.id)).toEqual(solved);
      expect(solved.task).toMatchObject({ hops: level, goldenAnswers: [solved.plan.answer] });
    }
    const key = { split: "train", level: 1, index: 0 } as const;
    expect(make(4).task(key).task.question).not.toBe(family.task(key).task.question);
  });

  it("asks no question in two splits", () => {
    const n = family.name.startsWith("debugging") ? 4 : 60;
    const asked = (split: "train" | "dev" | "test") =>
      levels
        .slice(0, 3)
        .flatMap((level) => firstTasks(family, split, level, n).map(({ task }) => task.question));
    const [train, dev, test] = [new Set(asked("train")), asked("dev"), asked("test")];
    expect([...dev, ...test].filter((question) => train.has(question))).toEqual([]);
    expect(test.filter((question) => dev.includes(question))).toEqual([]);
    expect(train.size).toBeGreaterThan(2.5 * n);
  });

  it("keeps its own constraints in its own plan, and opens each step with its item of the path", () => {
    for (const level of levels) {
      const { task, plan } = family.task({ split: "train", level, index: 2 });
      const steps = plan.steps.map(({ work }) => work).join(" ; ");
      const checks = family.checkConstraints(task, plan.answer, steps);
      expect(checks).toEqual(plan.constraints.map((constraint) => ({ constraint, kept: true })));
      expect(family.checkConstraints(task, "", "").every(({ kept }) => kept)).toBe(false);
      expect(new Set(plan.steps.map(({ path }) => path)).size).toBe(plan.steps.length);
      for (const { path, work } of plan.steps) expect(work.startsWith(`${path} : `)).toBe(true);
    }
  });

  it("writes everything with its vocabulary", () => {
    const solved = levels.flatMap((level) => firstTasks(family, "train", level, 4));
    const pages = family.passages.flatMap(({ title, text }) => [title, text]);
    expect(unwritable([...solved.flatMap(textsOf), ...pages], family.vocabulary())).toEqual([]);
    const { special, words } = family.vocabulary();
    expect(new Set([...special, ...words]).size).toBe(special.length + words.length);
  });

  const again = make(3);

  it("law: a perturbed task is valid, another one, of the same split and level, and can be made again", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("train", "dev", "test"),
        fc.constantFrom(...levels.slice(0, 3)),
        fc.nat(1000),
        fc.nat(),
        (split, level, index, seed) => {
          const from = family.task({ split, level, index });
          const once = family.perturb(from.task.id, rng(seed));
          const twice = family.perturb(once.task.id, rng(seed, "again"));
          const questions = [from, once, twice].map(({ task }) => task.question);
          expect(new Set(questions).size).toBe(3);
          expect(once.task.id.startsWith(`${from.task.id}~`)).toBe(true);
          for (const { task, plan } of [once, twice]) {
            expect(again.planned(task.id)).toEqual({ task, plan });
            expect(task.hops).toBe(level);
            const steps = plan.steps.map(({ work }) => work).join(" ; ");
            expect(family.checkConstraints(task, plan.answer, steps).every(({ kept }) => kept)).toBe(true);
          }
        },
      ),
      { numRuns: family.name.startsWith("debugging") ? 3 : 30, seed: 1 },
    );
  });

  it("refuses ids and levels that are not its own", () => {
    const id = family.task({ split: "train", level: 1, index: 0 }).task.id;
    for (const other of [
      id.replace("-3/", "-4/"),
      id.replace("train", "all"),
      `${id}~x`,
      "",
      id.slice(0, -1),
    ])
      expect(() => family.planned(other)).toThrow("no such task in this family");
    expect(() => family.planned(id.replace("/1/", "/9/"))).toThrow("no such difficulty");
    expect(() => family.task({ split: "train", level: 0, index: 0 })).toThrow("no such difficulty");
  });
});
