import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError, RewardError } from "../core/errors.ts";
import { checkNeeds, type Ground } from "./check-needs.ts";
import { rewardConfig } from "./config.ts";
import { planOf } from "./plan.ts";
import { atStep, isScored, scoreAll, scoreGroups } from "./score-all.ts";
import type { Scorer } from "./scored.ts";
import { makeScorer } from "./scorer.ts";
import { toyTask, toyTrajectory } from "./testing.ts";

const right = "<answer>ada lovelace</answer>";
const wrong = "<answer>Byron</answer>";
const scorer = (config: object = {}, own = {}) => makeScorer(rewardConfig.parse(config), own);
const reward = (turns: string[], config: object = {}) => scorer(config)(toyTrajectory(turns)).reward;

describe("dmi", () => {
  test.each([
    ["right", [right], 1],
    ["right in two tags", [right, right], 1 / 2],
    ["right in three", [right, right, right], 1 / 3],
    ["right in four", [right, right, right, right], 1 / 4],
    ["right in nine: at most by 4", Array(9).fill(right), 1 / 4],
    ["wrong with a tag", [wrong], 0.1],
    ["wrong in two tags", [wrong, wrong], 0.05],
    ["the last is judged: wrong then right", [wrong, right], 0.5],
    ["the last is judged: right then wrong", [right, wrong], 0.05],
    ["no tag", ["Ada Lovelace"], 0],
    ["an empty tag is a tag", ["<answer></answer>"], 0.1],
    ["only in think", [`<think>${right}</think>`], 0],
    ["unclosed", ["<answer>Ada Lovelace"], 0],
  ])("%s", (_, turns, expected) => expect(reward(turns as string[])).toBeCloseTo(expected, 12));

  test("every part is kept raw, the prediction as written", () => {
    const scored = scorer()(toyTrajectory([wrong, "<answer> Ada King Lovelace </answer>"]));
    expect(scored.parts).toEqual({ exactMatch: 0, f1: 0.8, coverMatch: 0, answerTag: 1, answers: 2 });
    expect(scored.prediction).toBe("Ada King Lovelace");
    expect(scorer()(toyTrajectory(["hm"]))).not.toHaveProperty("prediction");
  });

  test("a passage with the gold answer in a tag earns nothing", () => {
    const trajectory = toyTrajectory(["<search>q</search>", ["observation", right]], {
      outcome: "turn_limit",
    });
    expect(scorer()(trajectory).reward).toBe(0);
  });

  test("outcomes of the policy are scored by the rules: turn limit and length are no special zeros", () => {
    for (const outcome of ["turn_limit", "length", "invalid", "no_answer"] as const)
      expect(scorer()(toyTrajectory([right], { outcome })).reward).toBe(1);
  });
});

test("search-r1: exact match alone, never divided", () => {
  expect(reward([right, right], { preset: "search-r1" })).toBe(1);
  expect(reward([wrong], { preset: "search-r1" })).toBe(0);
});

test("every option changes a reward", () => {
  expect(reward([wrong], { weights: { exactMatch: 1, answerTag: 0.3 } })).toBeCloseTo(0.3, 12);
  expect(reward([right], { combination: "sum" })).toBeCloseTo(1.1, 12);
  expect(reward([right, right, right], { maxDivisor: 2 })).toBe(0.5);
  expect(reward([right, wrong], { extraction: "first" })).toBe(0.5);
  expect(reward([right, wrong], { extraction: "only" })).toBeCloseTo(0.05, 12);
  expect(reward(["<answer>Lovelace</answer>"], { weights: { f1: 1 } })).toBeCloseTo(2 / 3, 12);
});

test("a part of one's own, by name; a name of ours or one that does not exist is the user's mistake", () => {
  const short = (_: unknown, { prediction }: { prediction?: string }) =>
    (prediction ?? "").length < 15 ? 1 : 0;
  const scored = scorer(
    { weights: { exactMatch: 1, short: 0.5 }, combination: "sum" },
    { short },
  )(toyTrajectory([right]));
  expect(scored.parts.short).toBe(1);
  expect(scored.reward).toBe(1.5);
  expect(() => scorer({}, { f1: short })).toThrow(ConfigError);
  expect(() => scorer({ weights: { exactMach: 1 } })).toThrow(/Did you mean `exactMatch`/);
  const nan = { bad: () => Number.NaN };
  expect(() => scorer({ weights: { bad: 1 } }, nan)(toyTrajectory([right]))).toThrow(RewardError);
  expect(() => scorer({}, nan)(toyTrajectory([right]))).toThrow(/toy:1.*part `bad` is not a finite number/);
});

test("failed and cancelled episodes have no reward, and a question without gold has none", () => {
  for (const outcome of ["infra(model)", "infra(retriever)", "cancelled"] as const)
    expect(() => scorer()(toyTrajectory([right], { outcome }))).toThrow(RewardError);
  const task = { ...toyTask, goldenAnswers: ["The", "..."] };
  expect(() => scorer()(toyTrajectory(["<answer></answer>"], { task }))).toThrow(/without gold/);
});

describe("parts", () => {
  const task = { ...toyTask, supportingIds: ["g1", "g2"] };
  const search = (query: string, passageIds: string[], repeated = false) => ({
    ...{ query, passageIds, repeated, milliseconds: 1 },
  });
  const said = [
    "<search>who</search>",
    ["observation", "Doc 1(Title: Book) by Ada Lovelace, 1843"],
    "<search>who</search>",
    ["observation", "Doc 1(Title: Book) by Ada Lovelace, 1843"],
    right,
  ] as const;
  const ending = {
    ...toyTrajectory([]).ending!,
    searches: [search("who", ["g1", "x"]), search("who", ["g1", "x"], true)],
  };
  const episode = toyTrajectory(said, { task, ending });
  const partsOf = (config: object, trajectory = episode) => scorer(config)(trajectory).parts;

  test.each([
    ["evidence", 0.5],
    ["novelSearch", 0.5],
    ["freshQuery", 0.5],
    ["supported", 1],
    ["turnCredit", 2 / 3],
    ["repeatedTags", 0],
    ["repeatedQueries", -0.5],
    ["format", 1],
    ["formatPenalty", 0],
    ["retrieval", 1],
    ["searchCost", -2],
    ["length", 0],
  ])("%s: %f, kept when named", (name, expected) => {
    expect(partsOf({ keep: [name] })[name]).toBeCloseTo(expected, 12);
    expect(partsOf({})).not.toHaveProperty(name);
  });

  test("process and repetition are means of what they are made of, which is kept beside them", () => {
    expect(partsOf({ keep: ["process"] })).toMatchObject({ process: 0.625, evidence: 0.5, supported: 1 });
    expect(partsOf({ keep: ["process"], process: { of: ["supported"] } }).process).toBe(1);
    const { repetition, repeatedTags, repeatedNgrams, repeatedQueries } = partsOf({ keep: ["repetition"] });
    expect(repetition).toBeCloseTo((repeatedTags! + repeatedNgrams! + repeatedQueries!) / 3, 12);
  });

  test("options reach their parts", () => {
    expect(partsOf({ keep: ["searchCost"], searchCost: { free: 1 } }).searchCost).toBe(-1);
    expect(partsOf({ keep: ["repetition"], repetition: { ngram: 1 } }).repeatedNgrams).toBeLessThan(0);
    const tokens = said.filter((turn) => typeof turn === "string").join("").length;
    const length = { maxTokens: tokens + 5, bufferTokens: 10 };
    expect(partsOf({ keep: ["length"], length }).length).toBeCloseTo(-0.5, 12);
    expect(partsOf({ keep: ["format"], format: { thinkFirst: true } }).format).toBe(0);
    expect(partsOf({ keep: ["format"], format: { maxAnswerWords: 1 } }).format).toBe(0);
  });

  test("a question without gold passages has no evidence: an error, never a zero", () => {
    const { supportingIds: _, ...bare } = task;
    expect(() => partsOf({ keep: ["evidence"] }, { ...episode, task: bare })).toThrow(/gold passages/);
  });

  test.each([
    ["o-researcher", said, 0.5 + 0.4 * 0.625 + 0.1],
    ["r1-searcher", [right], 1],
    ["r1-searcher", [`${right} and more`], -1],
    ["r1-searcher", [`<answer>${"word ".repeat(11)}</answer>`], -2],
    ["search-r1-format", [`<think>so</think>${right}`], 1],
    ["search-r1-format", [right], 0.8],
    ["search-r1-format", [`<think>so</think>${wrong}`], 0.2],
    ["search-r1-format", [wrong], 0.1],
    ["search-r1-format", ["hm"], 0],
  ] as const)("preset %s", (preset, turns, expected) => {
    expect(scorer({ preset })(toyTrajectory(turns, { task, ending })).reward).toBeCloseTo(expected, 12);
  });

  test("a gate, by name: F1 counts only if well formed", () => {
    const config = { weights: { f1: 1 }, combination: "sum", gates: { f1: { only: ["format"] } } };
    expect(reward([right], config)).toBe(1);
    expect(reward([`${right} ok`], config)).toBe(0);
    expect(() => scorer({ gates: { f1: { only: ["formatt"] } } })).toThrow(/Did you mean `format`/);
    expect(() => scorer({ keep: ["proces"] })).toThrow(/reward.keep.*Did you mean `process`/);
  });
});

test("a weight that moves: the scorer by itself weighs as at the start, `at` as after so many updates", () => {
  const score = scorer({
    weights: { exactMatch: 1, answerTag: { from: 0.1, to: 0, steps: 10 } },
    combination: "sum",
  });
  const trajectory = toyTrajectory([wrong]);
  expect(score(trajectory).reward).toBeCloseTo(0.1, 12);
  expect([0, 5, 10, 99].map((step) => atStep(score, step)(trajectory).reward)).toEqual([0.1, 0.05, 0, 0]);
  const plain: Scorer = (t) => ({ ...t, parts: {}, reward: 7 });
  expect(atStep(plain, 3)).toBe(plain);
});

describe("gdpo in groups", () => {
  const group = (turns: string[]) => ({
    task: toyTask,
    members: turns.map((turn, member) => toyTrajectory([turn], { member })),
  });
  const score = scorer({ weights: { exactMatch: 1, answerTag: 0.1 }, combination: "gdpo", maxDivisor: 1 });

  test("all wrong, two with a tag: an advantage of the tag's weight, not of a right answer's", async () => {
    const { groups } = await scoreGroups(score, [group([wrong, wrong, "hm", "hm"])]);
    const [first, , third] = groups[0]!.members;
    expect(first!.reward).toBeCloseTo(0.1 * Math.sqrt(0.75), 5);
    expect(third!.reward).toBeCloseTo(-0.1 * Math.sqrt(0.75), 5);
    expect(first!.parts).toMatchObject({ exactMatch: 0, answerTag: 1, beforeGroup: 0.1 });
  });

  test("rewards stay with their members, whatever their places", async () => {
    const turns = [right, wrong, "hm", right, "hm", wrong];
    const rewards = async (order: number[]) => {
      const { members } = group(turns);
      const { groups } = await scoreGroups(score, [
        { task: toyTask, members: order.map((i) => members[i]!) },
      ]);
      return new Map(groups[0]!.members.map(({ member, reward }) => [member, reward]));
    };
    const straight = await rewards([0, 1, 2, 3, 4, 5]);
    for (const order of [
      [5, 4, 3, 2, 1, 0],
      [2, 0, 5, 1, 4, 3],
    ])
      expect([...(await rewards(order))].sort()).toEqual([...straight].sort());
  });

  test("one member left has nothing to be compared with", async () => {
    const { groups } = await scoreGroups(score, [group([right])]);
    expect(groups[0]!.members[0]).toMatchObject({ reward: 1.1 });
  });
});

test("scoreAll passes by what the policy did not end", async () => {
  const failed = toyTrajectory([], { outcome: "infra(model)" });
  expect((await scoreAll(scorer(), [failed, toyTrajectory([right])])).map(isScored)).toEqual([false, true]);
});

describe("checkNeeds", () => {
  const check = (config: object, ground: Partial<Ground>) => () =>
    checkNeeds(planOf(rewardConfig.parse(config)), {
      ...{ environment: "researcher", lacks: [], questions: [] },
      ...ground,
    });
  const questions = [
    { name: "benchmark mine", tasks: [toyTask, { ...toyTask, id: "b", supportingIds: ["p"] }] },
  ];

  test("questions without gold passages, by number and name, when a part needs them", () => {
    expect(check({ preset: "o-researcher" }, { questions })).toThrow(ConfigError);
    expect(check({ preset: "o-researcher" }, { questions })).toThrow(/mine.*`evidence`.*1 of 2.*toy:1/);
    expect(check({ preset: "o-researcher", process: { of: ["freshQuery"] } }, { questions })).not.toThrow();
    expect(check({}, { questions })).not.toThrow();
  });

  test("an environment without tags and searches", () => {
    const agent = { environment: "agent", lacks: ["tags", "searches"] as const };
    expect(check({ keep: ["format"] }, agent)).toThrow(/`format`.*`agent`.*no tags/s);
    expect(check({ keep: ["repetition"] }, agent)).toThrow(/`repeatedQueries`.*not recorded/s);
    expect(check({ keep: ["retrieval", "length", "repeatedNgrams"] }, agent)).not.toThrow();
  });
});

test("unknown keys and values of the section are refused", () => {
  for (const bad of [
    { presett: "dmi" },
    { preset: "dmy" },
    { maxDivisor: 0 },
    { normalizer: "squadd" },
    { weights: { f1: "x" } },
    { weights: { f1: { from: 1, to: 0 } } },
    { weights: { f1: { from: 1, to: 0, steps: 5, shape: "square" } } },
    { gates: { f1: { onyl: ["format"] } } },
    { process: { of: [] } },
    { process: { of: ["format"] } },
    { length: { maxTokens: 5, bufferTokens: 6 } },
    { keep: ["judge"] },
    { judge: { url: "not a server", model: "m" } },
  ])
    expect(rewardConfig.safeParse(bad).success).toBe(false);
});

test("laws of dmi: pure, within [0, 1], a right last answer beats a wrong one after the same turns", () => {
  const score = scorer();
  const turn = fc.constantFrom(right, wrong, "<answer></answer>", "<search>q</search>", "<think>", "x");
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 6 }), (turns) => {
      const trajectory = toyTrajectory(turns);
      const once = score(trajectory);
      expect(score(trajectory)).toEqual(once);
      expect(once.reward).toBeGreaterThanOrEqual(0);
      expect(once.reward).toBeLessThanOrEqual(1);
      expect(reward([...turns, right])).toBeGreaterThan(reward([...turns, wrong]));
    }),
  );
});
