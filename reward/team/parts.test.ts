import { describe, expect, test } from "vitest";
import { ConfigError, RewardError } from "../../core/errors.ts";
import { checkNeeds, lacksOf } from "../check-needs.ts";
import { rewardConfig } from "../config.ts";
import { planOf } from "../plan.ts";
import { makeScorer } from "../scorer.ts";
import { toyTrajectory } from "../testing.ts";
import {
  account,
  atOnce,
  caught,
  conditions,
  confirm,
  draft,
  plan,
  rejected,
  replan,
  teamScored,
  teamTrajectory,
  verdict,
  violation,
} from "./testing.ts";

type Parts = Readonly<Record<string, number>>;
const keep = [
  "constraintsKept",
  "backSubstitution",
  "errorLocated",
  "fewRevisions",
  "freshPlan",
  "converged",
];
const partsOf = (team: ReturnType<typeof account>, reward: object = {}): Parts =>
  teamScored(team, { reward: { keep, ...reward } }).parts;
const around = (...first: Parameters<typeof account>[0][number]) =>
  account([[...first], [replan(), draft(), verdict("pass")]]);

describe("the preset team", () => {
  test("a team that is right at once earns 0.5 + 0.4 + 0.1, and so does one that puts its error right", () => {
    expect(teamScored(atOnce()).reward).toBeCloseTo(1, 12);
    expect(teamScored(caught())).toMatchObject({ parts: { exactMatch: 1, teamProcess: 1, teamFormat: 1 } });
    expect(teamScored(caught()).reward).toBeCloseTo(1, 12);
  });
  test("the judged answer is the account's, and no tag is read", () => {
    const { ending } = teamTrajectory(atOnce());
    const tagged = toyTrajectory(["<answer>Ada Lovelace</answer>"], { ending: ending! });
    const scored = makeScorer(rewardConfig.parse({ preset: "team" }))(tagged);
    expect(scored).toMatchObject({ prediction: "Mika", parts: { exactMatch: 0, answers: 1 } });
  });
  test("past the rounds the whole reward is exactly 0, whatever the weights and gates", () => {
    for (const reward of [
      {},
      { weights: { f1: 1, teamFormat: 0.1 } },
      { gates: { teamProcess: { unless: ["exactMatch"] } } },
      { weights: { answerTag: 1, teamProcess: 0.4 }, combination: "best" },
    ]) {
      const scored = teamScored({ ...rejected(6), answer: "Mika" }, { reward });
      expect(Object.is(scored.reward, 0)).toBe(true);
      expect(scored.parts.exactMatch).toBe(1);
    }
  });
  test("gates of the user's own hold beside it", () => {
    const reward = { gates: { teamProcess: { only: ["exactMatch"] } } };
    const wrong = account([
      [plan(), draft("Ona"), verdict("pass", { backward: "Ona the spouse of Zoriba" })],
    ]);
    expect(teamScored(wrong, { reward }).reward).toBeCloseTo(0.1, 12);
    expect(teamScored(atOnce(), { reward }).reward).toBeCloseTo(1, 12);
  });
});

describe("teamFormat", () => {
  test("counts the calls that were a message at the first attempt, with nothing around it", () => {
    const mixed = account([
      [
        plan(),
        violation("drafter"),
        draft("Mika", "director Ona", { attempt: 2 }),
        verdict("pass", {}, { clean: false }),
      ],
    ]);
    expect(partsOf(mixed).teamFormat).toBeCloseTo(1 / 3, 12);
    expect(partsOf(account([])).teamFormat).toBe(0);
  });
  test("a changed conclusion forfeits it", () => {
    expect(partsOf({ ...atOnce(), conclusionChanged: true }).teamFormat).toBe(0);
  });
});

describe("constraintsKept", () => {
  const with3 = (second: string[], third: string[]) =>
    account([
      [plan(["a"], ["a Person", "alive"]), draft(), verdict("fail")],
      [replan(["b"], second), draft(), verdict("fail")],
      [replan(["c"], third), draft(), verdict("pass")],
    ]);
  test("a dropped constraint is missed in every revision until it is back; wording is normalised", () => {
    expect(partsOf(with3(["a person.", "Alive"], ["alive", "person"])).constraintsKept).toBe(1);
    expect(partsOf(with3(["alive"], ["alive"])).constraintsKept).toBe(0);
    expect(partsOf(with3(["alive"], ["alive", "person"])).constraintsKept).toBe(0.5);
  });
  test("a new one counts from then on", () => {
    expect(partsOf(with3(["person", "alive", "tall"], ["person", "alive"])).constraintsKept).toBe(0.5);
  });
  test("nothing revised is nothing lost; nobody's constraints are nobody's merit", () => {
    expect(partsOf(atOnce()).constraintsKept).toBe(1);
    expect(partsOf(account([[draft(), verdict("pass")]])).constraintsKept).toBe(0);
    expect(partsOf(account([[plan(["a"], []), draft(), verdict("pass")]])).constraintsKept).toBe(0);
  });
});

describe("backSubstitution", () => {
  const of = (backward: string, more: object = {}) =>
    partsOf(account([[plan(), draft(), verdict("pass", { backward, ...more })]])).backSubstitution;
  test("the answer with the question's terms around it", () => {
    expect(of("Mika spouse director Zoriba")).toBe(1);
    expect(of("mika, the SPOUSE")).toBe(1);
  });
  test.each([
    ["the answer alone", "Mika", {}],
    ["words without the answer", "the spouse of the director fits", {}],
    ["a part of a word", "Mikaela is the spouse", {}],
    ["the question", "Who is the spouse of the director of Zoriba?", {}],
    ["a copy of forward", "Mika spouse", { forward: "The Mika: spouse." }],
    ["the draft's steps", "director Ona ; spouse Mika", {}],
    ["marks", "…", {}],
  ])("not %s", (_, backward, more) => expect(of(backward, more)).toBe(0));
  test("yes and no need not stand there", () => {
    const team = account([[plan(), draft("no"), verdict("pass", { backward: "the spouse is another" })]]);
    expect(partsOf(team).backSubstitution).toBe(1);
  });
  test("an unreadable verdict counts against it", () => {
    const twice = { attempt: 2 as const };
    const team = around(plan(), draft(), violation("verifier"), violation("verifier", twice));
    expect(team.verdicts.map(({ kind }) => kind)).toEqual(["unparsable", "pass"]);
    expect(partsOf(team).backSubstitution).toBe(0.5);
  });
});

describe("errorLocated", () => {
  const of = (step: string | undefined) =>
    partsOf(
      around(
        plan(["director", "birthplace"]),
        draft("Ona", "director Ona ; birthplace Rava"),
        verdict("fail", step === undefined ? {} : { step }),
      ),
    ).errorLocated;
  test.each([
    ["a step of the path", "birthplace"],
    ["a step of the draft", "Rava"],
    ["a number", "step 2"],
    ["a longer text that holds one step", "the birthplace is not asked for"],
    ["a missing step that the question asks for", "spouse"],
  ])("%s", (_, step) => expect(of(step)).toBe(1));
  test.each([
    ["none", undefined],
    ["one that stands nowhere", "capital"],
    ["a number beyond them", "3"],
    ["all of them", "director birthplace"],
    ["the whole question", "spouse of the director of Zoriba"],
    ["no content", "of the"],
  ])("not %s", (_, step) => expect(of(step)).toBe(0));
  test("without a rejection it is neither earned nor lost", () =>
    expect(partsOf(atOnce()).errorLocated).toBe(1));
});

describe("revisions", () => {
  test("some are free, each further one costs", () => {
    const few = (rounds: number, reward: object = {}) =>
      partsOf({ ...atOnce(), rounds }, reward).fewRevisions;
    expect([1, 2, 3, 4, 6, 9].map((rounds) => few(rounds))).toEqual([1, 1, 0.75, 0.5, 0, 0]);
    expect(few(3, { team: { revisions: { free: 2 } } })).toBe(1);
    expect(few(3, { team: { revisions: { cost: 0 } } })).toBe(1);
  });
  test("a plan that is rejected again decays the process, not one that is rejected for the first time", () => {
    expect(partsOf(caught()).freshPlan).toBe(1);
    expect(partsOf(rejected(3)).freshPlan).toBe(0.25);
    expect(partsOf(rejected(3), { team: { samePlan: { decay: 1 } } }).freshPlan).toBe(1);
    const again = account([
      ...[1, 2].map(() => [plan(), draft("Ona"), verdict("fail")]),
      [draft(), verdict("pass")],
    ]);
    expect(partsOf(again).freshPlan).toBe(0.5);
  });
  test("without a planner it is the draft that is rejected again", () => {
    const pair = (second: string) =>
      account([
        [draft("Ona"), verdict("fail")],
        [draft(second), verdict("fail")],
      ]);
    expect(partsOf(pair("ona")).freshPlan).toBe(0.5);
    expect(partsOf(pair("Rava")).freshPlan).toBe(1);
  });
});

describe("teamProcess", () => {
  test("is the mean of what was put to the test, times the decay", () => {
    const located = verdict("fail", { step: "capital" });
    const once = around(plan(), draft("Ona"), located);
    // kept 1, back-substituted 1/2 (the rejected answer is not in it), located 0, revisions 1.
    expect(partsOf(once)).toMatchObject({ backSubstitution: 0.5, teamProcess: 2.5 / 4 });
    const twice = account([
      [plan(), draft("Ona"), located],
      [replan(), draft("Ona"), located],
      [replan(["c"]), draft(), verdict("pass")],
    ]);
    expect(partsOf(twice).teamProcess).toBeCloseTo((0.5 * (1 + 1 / 3 + 0 + 0.75)) / 4, 12);
  });
  test("what did not arise is left out, so that a pass at once earns by its check alone", () => {
    const unchecked = account([[plan(), draft(), verdict("pass", { backward: "fine by me" })]]);
    expect(partsOf(unchecked).teamProcess).toBe(0.5);
    expect(partsOf(unchecked, { team: { process: { of: ["errorLocated"] } } }).teamProcess).toBe(0);
  });
  test("without a verifier nobody said anything of the process: 0, never free", () => {
    const none = account([[plan(), conditions(), draft(), confirm()]]);
    expect(none.converged).toBe(true);
    const parts = partsOf(none);
    for (const name of [
      "teamProcess",
      "constraintsKept",
      "backSubstitution",
      "errorLocated",
      "fewRevisions",
      "freshPlan",
    ])
      expect(parts[name]).toBe(0);
    expect(teamScored(none).reward).toBeCloseTo(0.6, 12);
  });
  test("keeps what it is made of, and is told by the identity", () => {
    const score = makeScorer(rewardConfig.parse({ preset: "team" }));
    expect(Object.keys(score(teamTrajectory(atOnce())).parts)).toEqual(
      expect.arrayContaining([
        "constraintsKept",
        "backSubstitution",
        "errorLocated",
        "fewRevisions",
        "freshPlan",
      ]),
    );
    expect(score.identity).toMatchObject({
      "reward.gates.teamFormat.only": "converged",
      "reward.team.samePlan.decay": 0.5,
    });
    expect(makeScorer(rewardConfig.parse({})).identity).not.toHaveProperty(["reward.team.samePlan.decay"]);
  });
});

describe("what the environment can give", () => {
  const check = (environment: string, reward: object) => () =>
    checkNeeds(planOf(rewardConfig.parse(reward)), {
      environment,
      lacks: lacksOf(environment),
      questions: [],
    });
  test("a team has no tags, and its preset is named", () => {
    expect(check("team", { preset: "o-researcher" })).toThrow(ConfigError);
    expect(check("team", { weights: { format: 1 } })).toThrow(/`format`.*`team`.*reward\.preset: team/su);
    expect(check("team", { preset: "team" })).not.toThrow();
    expect(check("team", {})).not.toThrow();
  });
  test("turns of several seats are in no order", () => {
    expect(check("team", { weights: { turnCredit: 1 } })).toThrow(/several seats/u);
  });
  test("a researcher and an agent are no team; an environment of the user's own may be one", () => {
    for (const name of ["researcher", "agent"])
      expect(check(name, { preset: "team" })).toThrow(/env\.name to team/u);
    expect(check("mine", { preset: "team" })).not.toThrow();
    expect(check("researcher", { weights: { format: 1 } })).not.toThrow();
  });
  test("an episode without an account cannot be scored by it", () => {
    expect(() => makeScorer(rewardConfig.parse({ preset: "team" }))(toyTrajectory(["x"]))).toThrow(
      RewardError,
    );
  });
});
