import { expect, test } from "vitest";
import { rewardConfig } from "../reward/config.ts";
import { makeScorer } from "../reward/scorer.ts";
import {
  account,
  atOnce,
  caught,
  draft,
  plan,
  teamTask,
  teamTrajectory,
  verdict,
} from "../reward/team/testing.ts";
import { teamRulesOf } from "../reward/team/watch.ts";
import { toyTrajectory } from "../reward/testing.ts";
import { collect } from "./collect.ts";
import { seenOf } from "./team-watch.ts";

const config = (hacks: object) => rewardConfig.parse({ preset: "team", hacks });
const stamped = () => account([[plan(), draft("Ona"), verdict("pass")]]);

/** One batch of groups, collected with these rules. */
const collected = (hacks: object, ...groups: ReturnType<typeof account>[][]) =>
  collect({
    tasksPerStep: groups.length,
    refillBatches: 0,
    batch: () => groups.map(() => teamTask),
    roll: async () => ({
      groups: groups.map((teams) => ({
        task: teamTask,
        members: teams.map((team, member) => teamTrajectory(team, { member })),
      })),
      ...{ tooFew: [], leftOut: [], retried: [] },
    }),
    score: makeScorer(config(hacks)),
    rules: teamRulesOf(config(hacks)),
    algorithm: { filter: "spread", filterMetric: "reward" },
    clock: () => 0,
  });

test("dropped episodes are sampled and not learned from; a group without a second member is too few", async () => {
  const drop = { rubberStamp: { threshold: 0, action: "drop" } };
  const { kept, sampled, failed } = await collected(
    drop,
    [stamped(), atOnce(), caught(), account([[draft("Ona")]])],
    [stamped(), atOnce()],
  );
  expect(sampled.map(({ verdict, group }) => [verdict, group.members.map(({ member }) => member)])).toEqual([
    ["kept", [1, 2, 3]],
    ["tooFew", [1]],
    ["hack", [0]],
    ["hack", [0]],
  ]);
  expect(kept).toEqual([sampled[0]]);
  expect(failed).toEqual([]);
});

test("the filter sees the reward with its penalties", async () => {
  const same = [stamped(), stamped(), stamped()];
  const hollow = account([[plan(["…"]), draft("Ona"), verdict("pass")]]);
  const fine = { formatDrift: { threshold: 0, action: "penalise", penalty: 0.3 } };
  expect((await collected({}, [...same, hollow])).sampled[0]!.verdict).toBe("allWrong");
  expect((await collected(fine, [...same, hollow])).sampled[0]!.verdict).toBe("kept");
});

test("a step says what was seen: figures of the team, each detector's value, events of those that found something", async () => {
  const { sampled } = await collected({ rubberStamp: {}, answerStuffing: {} }, [stamped(), caught()]);
  const rules = teamRulesOf(config({ rubberStamp: {}, answerStuffing: {} }));
  const seen = await seenOf(
    { rules },
    sampled.flatMap(({ group }) => group.members),
    0,
  );
  expect(seen.metrics).toMatchObject({
    ...{ "team/rounds": 1.5, "team/misses": 0.5 },
    ...{ "hack/rubberStamp": 0.5, "hack/rubberStamp_episodes": 1, "hack/answerStuffing": 0 },
  });
  expect(seen.events).toEqual([
    {
      name: "hack",
      data: {
        ...{ name: "rubberStamp", action: "log", value: 0.5, threshold: 0.5, episodes: 1 },
        examples: [{ task: "toy:1", member: 0 }],
      },
    },
  ]);
});

test("nothing is said where no team plays, or nobody watches", async () => {
  const alone = [makeScorer(rewardConfig.parse({}))(toyTrajectory(["<answer>x</answer>"]))];
  const nothing = { metrics: {}, events: [] };
  expect(await seenOf({ rules: teamRulesOf(config({ rubberStamp: {} })) }, alone, 0)).toEqual(nothing);
  expect(await seenOf(undefined, alone, 0)).toEqual(nothing);
});
