import { expect, test } from "vitest";
import { RewardError } from "../core/errors.ts";
import type { SearchRecord } from "../env/environment.ts";
import type { Source } from "../rollout/trajectory.ts";
import { checkCreditedSeats, checkTurnCredit } from "./check-needs.ts";
import { rewardConfig } from "./config.ts";
import { mapScorer, scoreAll } from "./score-all.ts";
import type { Scored } from "./scored.ts";
import { makeScorer } from "./scorer.ts";
import { toyTask, toyTrajectory } from "./testing.ts";

const task = { ...toyTask, supportingIds: ["g"] };
const searched = (...passageIds: string[]): SearchRecord => ({
  ...{ query: passageIds.join(), passageIds, repeated: false, milliseconds: 1 },
});
const seen = (text: string): [Source, string] => ["observation", text];

function episode(turns: Parameters<typeof toyTrajectory>[0], searches: readonly SearchRecord[], over = {}) {
  const trajectory = toyTrajectory(turns, { task, ...over });
  return { ...trajectory, ending: { ...trajectory.ending!, searches } };
}
const found = episode(
  [
    "<search>a</search>",
    seen("nothing"),
    "<search>b</search>",
    seen("by Ada Lovelace"),
    "<answer>Ada Lovelace</answer>",
  ],
  [searched("x"), searched("g")],
);
const score = makeScorer(rewardConfig.parse({ keep: ["turnCredit"] }));
const credited = score.withTurnCredits!();

test("credits are one for each policy segment, and their mean is the part `turnCredit`", () => {
  expect(credited(found)).toMatchObject({ turnCredits: [[0.5, 1, 1]], parts: { turnCredit: 2.5 / 3 } });
});

test("a scorer that is not asked gives none; one that is gives the same parts and reward beside them", () => {
  expect(score(found)).not.toHaveProperty("turnCredits");
  const { turnCredits, ...rest } = credited(found);
  expect(rest).toEqual(score(found));
});

test("asked once, it stays so at every step and under a changed reward", () => {
  const changed = mapScorer(score, (scored) => ({ ...scored, reward: scored.reward - 1 }));
  const scored = changed.withTurnCredits!().at!(7)(found);
  expect(scored).toMatchObject({ turnCredits: [[0.5, 1, 1]], reward: 0 });
});

test("episodes that infrastructure ended have no credit, as they have no reward", async () => {
  const failed = episode([], [], { outcome: "infra(model)" });
  const [a, b] = await scoreAll(credited, [failed, found]);
  expect(a).not.toHaveProperty("turnCredits");
  expect((b as Scored).turnCredits).toEqual([[0.5, 1, 1]]);
});

test("a search whose passages a full context had no room for belongs to the last turn, which saw nothing", () => {
  const cut = episode(["a", seen("o"), "b"], [searched("x"), searched("g")], { outcome: "length" });
  expect(credited(cut).turnCredits).toEqual([[0.5, 0]]);
});

test.each([
  ["a search that no turn made", episode(["a", seen("o")], [searched("x"), searched("g")])],
  ["an observation that no search brought", episode(["a", seen("o"), "b", seen("o"), "c"], [searched("x")])],
  ["an environment that records none", episode(["a", seen("o"), "b"], [])],
  ["two seats", { ...found, sequences: [...found.sequences, ...found.sequences] }],
])("%s: turns cannot be told apart, and the error names the episode and the way out", (_, trajectory) => {
  expect(() => credited(trajectory)).toThrow(RewardError);
  expect(() => credited(trajectory)).toThrow(
    /toy:1, member 0.*which turn made which search.*Set rl\.turnCredit to 0/s,
  );
  expect(score(trajectory)).toHaveProperty("reward");
});

test("a question without gold passages has no credit", () => {
  expect(() => credited({ ...found, task: toyTask })).toThrow(/ids of its gold passages/);
});

const ground = { environment: "mine", lacks: [], questions: [] };

test("what an environment or the questions cannot give is said before the first token", () => {
  const questions = [{ name: "data.train", tasks: [task, { ...toyTask, id: "b" }] }];
  expect(() => checkTurnCredit({ ...ground, questions })).toThrow(
    /rl\.turnCredit, data\.train.*gold passages.*1 of 2.*: b.*set rl\.turnCredit to 0/s,
  );
  expect(() => checkTurnCredit({ ...ground, environment: "agent", lacks: ["searches"] })).toThrow(
    /rl\.turnCredit.*`agent`.*not recorded.*Set rl\.turnCredit to 0/s,
  );
  expect(() => checkCreditedSeats({ name: "team", seats: ["a", "b"] })).toThrow(
    /rl\.turnCredit.*`team`.*which seat.*one seat.*a, b/s,
  );
  expect(() => checkCreditedSeats({ name: "researcher", seats: ["researcher"] })).not.toThrow();
  expect(() =>
    checkTurnCredit({ ...ground, questions: [{ name: "data.train", tasks: [task] }] }),
  ).not.toThrow();
});
