import fc from "fast-check";
import { expect, test } from "vitest";
import { teamLearningConfig, unknownName } from "./team-config.ts";
import { createStages } from "./team-stages.ts";

const stagesOf = (stages: object[]) => teamLearningConfig.parse({ stages }).stages;
const three = stagesOf([
  { learn: ["drafter", "verifier"], until: { step: 2 } },
  { learn: ["drafter", "verifier", "planner"], until: { metric: "em", above: 0.6, for: 2 } },
  { learn: ["planner"] },
]);

test("a stage ends at its step, or when its metric has held so many steps in a row; the last one stays", () => {
  const stages = createStages(three);
  const seen = [0.9, 0.9, 0.7, 0.5, 0.7, 0.8, 0.1].map((em, i) => {
    const before = ["planner", "verifier", "other"].filter((name) => stages.learns(name));
    return [before.join(), stages.after(i + 1, { em })];
  });
  expect(seen).toEqual([
    ...[
      ["verifier", false],
      ["verifier", true],
      ["planner,verifier", false],
      ["planner,verifier", false],
    ],
    ...[
      ["planner,verifier", false],
      ["planner,verifier", true],
      ["planner", false],
    ],
  ]);
});

test("a step that did not measure the metric breaks the row; a stage that is over as it begins is passed over", () => {
  const stages = createStages(
    stagesOf([{ learn: ["a"], until: { metric: "x", below: 1, for: 2 } }, { learn: ["b"] }]),
  );
  expect([{ x: 0 }, {}, { x: 0 }, { x: 0 }].map((metrics, i) => stages.after(i, metrics as never))).toEqual([
    ...[false, false, false, true],
  ]);
  const quick = createStages(
    stagesOf([{ learn: ["a"], until: { step: 3 } }, { learn: ["b"], until: { step: 2 } }, { learn: ["c"] }]),
  );
  expect([1, 2, 3].map((step) => quick.after(step, {}))).toEqual([false, false, true]);
  expect(quick.state.index).toBe(2);
});

test("without stages all learn", () => {
  const stages = createStages([]);
  expect(stages.learns("planner")).toBe(true);
  expect(stages.after(1, {})).toBe(false);
});

test("a schedule taken up where it stood goes on as if it had never stopped", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
      fc.nat(12),
      (ems, at) => {
        const [whole, first] = [createStages(three), createStages(three)];
        let stopped = first;
        ems.forEach((em, i) => {
          if (i === at) stopped = createStages(three, JSON.parse(JSON.stringify(first.state)));
          whole.after(i + 1, { em });
          (i < at ? first : stopped).after(i + 1, { em });
        });
        expect((ems.length > at ? stopped : first).state).toEqual(whole.state);
      },
    ),
  );
});

test.each([
  [[{ learn: ["a"] }, { learn: ["b"] }], /without an end/],
  [[{ learn: ["a"], until: {} }, { learn: ["b"] }], /exactly one of `step` and `metric`/],
  [[{ learn: ["a"], until: { metric: "em" } }, { learn: ["b"] }], /exactly one of `above` and `below`/],
  [[{ learn: ["a"], until: { step: 1, above: 2 } }, { learn: ["b"] }], /needs the metric/],
  [[{ learn: [] }], /./],
])("%j is refused", (stages, message) => {
  expect(teamLearningConfig.safeParse({ stages }).error?.message).toMatch(message);
});

test("names that nobody has are told, with the nearest", () => {
  const known = { seats: ["planner", "verifier"], adapters: ["team", "verifier"] };
  const of = (section: object) => unknownName(teamLearningConfig.parse(section), known);
  expect(of({ shaping: { verifier: 0.5 }, stages: [{ learn: ["team", "verifier"] }] })).toBeUndefined();
  expect(of({ shaping: { verifer: 0.5 } })).toMatch(/`verifer`.*did you mean `verifier`/);
  expect(of({ stages: [{ learn: ["verifer"] }] })).toMatch(/`verifer`.*did you mean `verifier`/);
  expect(of({ stages: [{ learn: ["planner"] }] })).toMatch(
    /env\.team\.roles\.planner\.adapter.*team, verifier/,
  );
  expect(of({ stages: [{ learn: ["nobody"] }] })).toMatch(/name team, verifier/);
});
