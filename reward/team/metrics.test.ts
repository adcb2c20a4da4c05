import { expect, test } from "vitest";
import { rewardConfig } from "../config.ts";
import { normalizers } from "../normalize.ts";
import { makeScorer } from "../scorer.ts";
import { toyTrajectory } from "../testing.ts";
import { teamMetrics } from "./metrics.ts";
import {
  account,
  atOnce,
  caught,
  confirm,
  draft,
  plan,
  rejected,
  replan,
  teamScored,
  verdict,
  violation,
} from "./testing.ts";

test("catches, misses and false alarms, by what the drafts were worth", () => {
  const missed = account([[plan(["director"]), draft("Ona"), verdict("pass"), confirm("Ona")]]);
  const alarmed = account([
    [plan(), draft(), verdict("fail")],
    [replan(), draft(), verdict("pass")],
  ]);
  const members = [atOnce(), caught(), missed, alarmed].map((team) => teamScored(team));
  expect(teamMetrics(members)).toMatchObject({
    "team/rounds": 1.5,
    "team/revisions": 0.5,
    "team/catches": 1 / 4,
    "team/misses": 1 / 4,
    "team/false_alarms": 1 / 4,
    "team/rejection_rate": 2 / 6,
    "team/catch_rate": 1 / 2,
    "team/false_alarm_rate": 1 / 4,
    "team/unparsable_rate": 0,
    "team/first_draft_em": 2 / 4,
    "team/accepted_em": 3 / 4,
    "team/converged": 1,
  });
});

test("calls, tokens and violations by role and kind; roles that are off are absent", () => {
  const team = account(
    [
      [
        violation("planner", { tokens: 3 }),
        plan(["director"], [], { attempt: 2, tokens: 5 }),
        draft("Ona", "director Ona", { tokens: 7 }),
        violation("verifier", { violation: "badPayload" }),
        violation("verifier", { attempt: 2 }),
      ],
    ],
    {
      conclusionChanged: true,
      compressions: [
        { round: 1, of: "planner", replaced: "long", by: "short", tokensBefore: 9, tokensAfter: 2 },
      ],
      overruns: [{ round: 1, of: "blackboard", tokens: 9, limit: 8 }],
    },
  );
  const metrics = teamMetrics([teamScored(team), teamScored(rejected(3))]);
  expect(metrics).toMatchObject({
    "team/calls/planner": 2.5,
    "team/tokens/planner": (3 + 5 + 24) / 2,
    "team/violations/noMessage": 1,
    "team/violations/badPayload": 0.5,
    "team/unparsable_rate": 1 / 4,
    "team/rejection_rate": 3 / 4,
    "team/converged": 0,
    "team/conclusion_changed": 0.5,
    "team/compressions": 0.5,
    "team/overruns": 0.5,
  });
  expect(metrics).not.toHaveProperty(["team/calls/analyst"]);
  expect(metrics).not.toHaveProperty(["team/accepted_em"]);
  expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
});

test("a draft is right under the normaliser of the reward", () => {
  const team = account([[plan(), draft("the Mika"), verdict("pass")]]);
  const of = (normalizer: (typeof normalizers)["squad" | "strict"]) =>
    teamMetrics([teamScored(team)], normalizer)["team/misses"];
  expect(of(normalizers.squad)).toBe(0);
  const withMark = account([[plan(), draft("-Mika"), verdict("pass")]]);
  expect(teamMetrics([teamScored(withMark)], normalizers.squad)["team/misses"]).toBe(0);
  expect(teamMetrics([teamScored(withMark)], normalizers.strict)["team/misses"]).toBe(1);
});

test("without a verifier its rates are absent, and without a team all", () => {
  const metrics = teamMetrics([teamScored(account([[plan(), draft()]]))]);
  expect(metrics).not.toHaveProperty(["team/rejection_rate"]);
  expect(metrics).toMatchObject({ "team/catches": 0, "team/converged": 1 });
  const alone = makeScorer(rewardConfig.parse({}))(toyTrajectory(["<answer>x</answer>"]));
  expect(teamMetrics([alone])).toEqual({});
  expect(teamMetrics([])).toEqual({});
});
