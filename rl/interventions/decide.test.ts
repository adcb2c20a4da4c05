import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { interventionsConfig, type RuleName } from "./config.ts";
import { decide, rulesOf } from "./decide.ts";
import {
  type Intervention,
  type InterventionState,
  learns,
  type Observation,
  rateOf,
  startState,
} from "./state.ts";
import { interventionWords } from "./words.ts";

type Section = Parameters<typeof interventionsConfig.parse>[0];

/** Folds observations and keeps every state on the way. */
function play(section: Section, seen: readonly Observation[], preset: Parameters<typeof rulesOf>[1] = "dmi") {
  const config = rulesOf(interventionsConfig.parse(section), preset);
  const states: InterventionState[] = [];
  const fired: Intervention[] = [];
  let state = startState;
  for (const each of seen) {
    const next = decide(config, state, each);
    state = next.state;
    states.push(state);
    fired.push(...next.fired);
  }
  return { state, states, fired };
}

const stepOf = (
  step: number,
  metrics: Readonly<Record<string, number>>,
  saved = step % 2 === 0,
): Observation => ({
  ...{ kind: "step", step, metrics, saved },
});
const steps = (name: string, values: readonly number[], saveEvery = 2) =>
  values.map((value, i) => stepOf(i + 1, { [name]: value }, (i + 1) % saveEvery === 0));

describe("stableRestart", () => {
  const calm = [0.05, 0.05, 0.04, 0.06, 0.05, 0.05, 0.05, 0.05];

  test("a jump in format failures goes back to the last checkpoint that quiet steps followed, at half the rate", () => {
    const { fired, state } = play({ stableRestart: {} }, steps("invalid_frac", [...calm, 0.5, 0.9]));
    expect(fired).toEqual([
      {
        rule: "stableRestart",
        step: 10,
        evidence: { failures: expect.closeTo(0.7), failuresBefore: expect.closeTo(0.05) },
        actions: [
          { do: "learningRate", factor: 0.5, least: 0 },
          // 8 was saved as well, but by step 10 nothing calm had followed it.
          { do: "restart", from: 4 },
        ],
      },
    ]);
    expect(rateOf(state.effects, 1e-4)).toBe(5e-5);
    // What came after step 4 is no baseline any more.
    expect(state.steps.map(({ step }) => step)).toEqual([1, 2, 3, 4]);
    expect(state.candidates).toEqual([]);
    expect(interventionWords(fired[0]!)).toBe(
      "stableRestart: format failures jumped (failures 0.700, failuresBefore 0.0500): learning rate × 0.500; weights and optimiser of the checkpoint of step 4",
    );
  });

  test("a high level that was always there, and a rise to a low one, are no jump", () => {
    expect(play({ stableRestart: {} }, steps("invalid_frac", new Array(12).fill(0.9))).fired).toEqual([]);
    expect(play({ stableRestart: {} }, steps("invalid_frac", [...calm, 0.26, 0.26])).fired).toEqual([]);
  });

  test("acts again only once failures have come down and the cooldown is over, each time at half the rate", () => {
    const jump = [0.5, 0.9];
    const section = { stableRestart: { cooldownSteps: 3, when: { baseline: 4 } } };
    // The second jump follows at once: nothing calm lies between.
    const still = play(section, steps("invalid_frac", [...calm, ...jump, 0.9, 0.9, 0.9, 0.9, 0.9]));
    expect(still.fired.map(({ step }) => step)).toEqual([10]);
    const again = play(section, steps("invalid_frac", [...calm, ...jump, ...calm, ...jump]));
    expect(again.fired.map(({ step }) => step)).toEqual([10, 20]);
    expect(rateOf(again.state.effects, 1e-4)).toBeCloseTo(2.5e-5, 12);
  });

  test("after its last restart it says what it sees and does no more", () => {
    const section = { stableRestart: { cooldownSteps: 3, when: { baseline: 4 }, act: { maxRestarts: 1 } } };
    const { fired, state } = play(section, steps("invalid_frac", [...calm, 0.9, 0.9, ...calm, 0.9, 0.9]));
    expect(fired.map(({ actions }) => actions.length)).toEqual([2, 0]);
    expect(state.effects.rate.factor).toBe(0.5);
    expect(interventionWords(fired[1]!)).toContain("as often as it may");
  });

  test("without a checkpoint that has proved itself it goes back to where RL began", () => {
    const { fired } = play({ stableRestart: {} }, steps("invalid_frac", [0, 0, 1, 1], 100));
    expect(fired[0]?.actions.at(-1)).toEqual({ do: "restart", from: 0 });
  });

  test.each([
    ["dmi", {}, 5e-5],
    ["o-researcher", {}, 5e-7],
    ["o-researcher", { learningRate: 2e-6 }, 2e-6],
    ["o-researcher", { learningRateFactor: 0.1 }, 1e-5],
    ["dmi", { learningRateFactor: 0.1, minLearningRate: 3e-5 }, 3e-5],
    ["dmi", { learningRate: 1 }, 1e-4],
  ] as const)("with %s and %o a rate of 1e-4 becomes %d", (preset, act, rate) => {
    const { state } = play({ stableRestart: { act } }, steps("invalid_frac", [...calm, 1, 1]), preset);
    expect(rateOf(state.effects, 1e-4)).toBeCloseTo(rate, 12);
  });
});

describe("processWeight", () => {
  const section = { processWeight: { when: { window: 2, evaluations: 1 }, cooldownSteps: 4 } };
  /** Two steps of each reward, then an evaluation. */
  const run = (points: readonly (readonly [reward: number, em: number])[]) =>
    points.flatMap(([reward, em], i): Observation[] => [
      stepOf(2 * i + 1, { reward }),
      stepOf(2 * i + 2, { reward }),
      { kind: "evaluation", step: 2 * i + 2, em },
    ]);

  test("reward up and held-out exact match down: less weight on the process, more hard questions", () => {
    const { fired, state } = play(section, run([[0.3, 0.4], [0.5, 0.3]])); // biome-ignore format: pairs
    expect(fired).toEqual([
      {
        rule: "processWeight",
        step: 4,
        evidence: { reward: 0.5, rewardBefore: 0.3, em: 0.3, emBefore: 0.4, sinceStep: 2 },
        actions: [
          { do: "weights", factors: { process: 0.5, teamProcess: 0.5 } },
          { do: "harder", share: 0.25 },
        ],
      },
    ]);
    expect(state.effects).toMatchObject({ weights: { process: 0.5, teamProcess: 0.5 }, harder: 0.25 });
  });

  test.each([
    ["both rise", [[0.3, 0.3], [0.5, 0.4]]],
    ["both fall", [[0.5, 0.4], [0.3, 0.3]]],
    ["exact match alone falls", [[0.5, 0.4], [0.51, 0.3]]],
  ] as const)("nothing where %s", (_, points) => {
    expect(play(section, run(points)).fired).toEqual([]);
  }); // biome-ignore format: pairs

  test("rewards before and after a change of weights are not compared; a second time adds to the first", () => {
    const { fired, state } = play(
      section,
      run([[0.3, 0.4], [0.5, 0.3], [0.9, 0.2], [0.9, 0.2], [0.9, 0.2], [1.2, 0.1]]),
    ); // biome-ignore format: pairs
    expect(fired.map(({ step }) => step)).toEqual([4, 12]);
    expect(state.effects).toMatchObject({ weights: { process: 0.25 }, harder: 0.5 });
  });

  test("the evaluation before the first step has no reward to compare with", () => {
    const seen: Observation[] = [{ kind: "evaluation", step: 0, em: 0.9 }, ...run([[0.5, 0.1]])];
    expect(play(section, seen).fired).toEqual([]);
  });
});

describe("freezeRoles", () => {
  const alike = (step: number, similarity: number, ratio = 0.95) =>
    stepOf(step, { "roles/similarity": similarity, "roles/length_ratio": ratio });

  test("roles that write the same at the same length: only analyst and verifier learn for some steps", () => {
    const values = [0.1, 0.1, 0.6, 0.9, 0.9];
    const { fired, state } = play(
      { freezeRoles: {} },
      values.map((v, i) => alike(i + 1, v)),
    );
    expect(fired).toMatchObject([
      {
        ...{ rule: "freezeRoles", step: 5 },
        evidence: { similarity: expect.closeTo(0.8), lengthRatio: expect.closeTo(0.95) },
        actions: [{ do: "freeze", learn: ["analyst", "verifier"], until: 10 }],
      },
    ]);
    // Steps 6 … 10 are those that follow 5 … 9 done ones.
    const frozen = (seat: string) => [4, 5, 9, 10].map((done) => learns(state.effects, seat, done));
    expect(frozen("planner")).toEqual([false, false, false, true]);
    expect(frozen("verifier")).toEqual([true, true, true, true]);
  });

  test("the same words at other lengths, and an agent alone, are nothing", () => {
    const unequal = [1, 2, 3, 4, 5].map((step) => alike(step, 0.9, 0.3));
    expect(play({ freezeRoles: {} }, unequal).fired).toEqual([]);
    expect(
      play(
        { freezeRoles: {} },
        [1, 2, 3, 4].map((step) => stepOf(step, {})),
      ).fired,
    ).toEqual([]);
  });
});

const metrics = fc.record({
  reward: fc.double({ min: 0, max: 1, noNaN: true }),
  invalid_frac: fc.constantFrom(0, 0, 0.05, 0.9, 1),
  "roles/similarity": fc.constantFrom(0.1, 0.9),
  "roles/length_ratio": fc.constantFrom(0.3, 1),
});
/** A run of steps, some with a checkpoint, some with an evaluation. */
const histories = fc
  .array(
    fc.record({ metrics, saved: fc.boolean(), em: fc.option(fc.double({ min: 0, max: 1, noNaN: true })) }),
    {
      maxLength: 80,
    },
  )
  .map((list) =>
    list.flatMap(({ metrics, saved, em }, i): Observation[] => [
      { kind: "step", step: i + 1, metrics, saved },
      ...(em === null ? [] : [{ kind: "evaluation" as const, step: i + 1, em }]),
    ]),
  );
const eager = (cooldownSteps: number): Section => ({
  processWeight: {
    cooldownSteps,
    when: { evaluations: 1, window: 1, rewardRise: 0.01, emFall: 0.01, rearm: 0.9 },
  },
  stableRestart: {
    cooldownSteps,
    when: { window: 1, baseline: 1, stableSteps: 1, rearm: 0.9 },
    act: { maxRestarts: 99 },
  },
  freezeRoles: { cooldownSteps, when: { window: 1, rearm: 0.9 }, act: { steps: 1 } },
});

describe("laws", () => {
  test("no rule acts twice within its cooldown", () => {
    let acted = 0;
    fc.assert(
      fc.property(histories, fc.integer({ min: 1, max: 12 }), (seen, cooldownSteps) => {
        const { fired } = play(eager(cooldownSteps), seen);
        acted += fired.length;
        for (const rule of ["processWeight", "stableRestart", "freezeRoles"] satisfies RuleName[]) {
          const at = fired.filter((each) => each.rule === rule).map(({ step }) => step);
          at.slice(1).forEach((step, i) => {
            expect(step - at[i]!).toBeGreaterThan(cooldownSteps);
          });
        }
      }),
    );
    expect(acted).toBeGreaterThan(0);
  });

  test("rules that are off see everything and do nothing", () => {
    fc.assert(
      fc.property(histories, (seen) => {
        const { fired, state } = play({}, seen);
        expect(fired).toEqual([]);
        expect(state.effects).toEqual(startState.effects);
        expect(rateOf(state.effects, 3e-4)).toBe(3e-4);
      }),
    );
  });

  test("one rule decides the same whether the others are on or off", () => {
    fc.assert(
      fc.property(histories, (seen) => {
        const { stableRestart: _, ...others } = eager(2) as Record<RuleName, object>;
        const both = play(others, seen).fired.filter(({ rule }) => rule === "freezeRoles");
        expect(play({ freezeRoles: others.freezeRoles } as Section, seen).fired).toEqual(both);
      }),
    );
  });

  test("a restart goes to a checkpoint that was due, and that was kept ever since", () => {
    fc.assert(
      fc.property(histories, (seen) => {
        const { states } = play(eager(1), seen);
        const due = new Set([0]);
        const kept = new Set([0]);
        seen.forEach((each, i) => {
          const state = states[i]!;
          const now = [state.stable, ...state.candidates.map(({ step }) => step)];
          if (each.kind === "step" && each.saved) {
            due.add(each.step);
            kept.add(each.step);
          }
          for (const step of now) expect(due.has(step) && kept.has(step)).toBe(true);
          // What is not kept is pruned and never comes back.
          for (const step of kept) if (step > 0 && !now.includes(step)) kept.delete(step);
        });
      }),
    );
  });

  test("the state is plain data: deciding goes on from a copy of it", () => {
    fc.assert(
      fc.property(histories, fc.nat(), (seen, cut) => {
        const config = interventionsConfig.parse(eager(3));
        const whole = play(eager(3), seen);
        const at = seen.length === 0 ? 0 : cut % seen.length;
        let state =
          at === 0 ? startState : (JSON.parse(JSON.stringify(whole.states[at - 1])) as InterventionState);
        for (const each of seen.slice(at)) state = decide(config, state, each).state;
        expect(state).toEqual(whole.state);
      }),
    );
  });
});
