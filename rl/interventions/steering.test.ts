import { expect, test } from "vitest";
import type { TaskSource } from "../../datasets/batch.ts";
import type { Guide } from "../../datasets/guide.ts";
import { rewardConfig } from "../../reward/config.ts";
import { atStep } from "../../reward/score-all.ts";
import { makeScorer } from "../../reward/scorer.ts";
import { toyTask, toyTrajectory } from "../../reward/testing.ts";
import { rlConfig } from "../config.ts";
import { roleRules } from "../team-learning.ts";
import { interventionsConfig } from "./config.ts";
import { Steering } from "./steering.ts";

const steered = (section: Parameters<typeof interventionsConfig.parse>[0]) =>
  new Steering({ interventions: interventionsConfig.parse(section), preset: "dmi" });
const step = (at: number, metrics: Readonly<Record<string, number>>) =>
  ({ kind: "step", step: at, metrics, saved: false }) as const;
const evaluation = (at: number, em: number) => ({ kind: "evaluation", step: at, em }) as const;

const reward = rewardConfig.parse({
  weights: { exactMatch: 0.5, answerTag: { from: 0.4, to: 0.8, steps: 10 } },
});
const wrong = toyTrajectory(["<answer> nobody </answer>"], { task: { ...toyTask, supportingIds: ["p1"] } });

/** Reward up, exact match down. */
function goneWrong(steering: Steering) {
  const seen = [step(1, { reward: 0.2 }), evaluation(1, 0.5), step(2, { reward: 0.5 }), evaluation(2, 0.4)];
  return seen.flatMap((each) => steering.observe(each));
}
const processWeight = { when: { evaluations: 1, window: 1 }, act: { parts: ["answerTag"] } };

test("the scorer of training weighs some parts less from then on, schedules included; the plain one stays", () => {
  const steering = steered({ processWeight });
  const plain = makeScorer({ ...reward, combination: "sum" });
  const score = steering.scorer(plain);
  const rewards = () => [0, 5, 10].map((at) => atStep(score, at)(wrong).reward);
  expect(rewards()).toEqual([0.4, 0.6, 0.8].map((value) => expect.closeTo(value, 9)));
  expect(goneWrong(steering)).toHaveLength(1);
  expect(rewards()).toEqual([0.2, 0.3, 0.4].map((value) => expect.closeTo(value, 9)));
  expect(atStep(score.withTurnCredits!(), 0)(wrong).reward).toBeCloseTo(0.2, 9);
  expect(atStep(plain, 0)(wrong).reward).toBeCloseTo(0.4, 9);
  // Parts stay raw.
  expect(atStep(score, 0)(wrong).parts).toEqual(atStep(plain, 0)(wrong).parts);
});

test("gdpo's groups are weighed the same way", () => {
  const steering = steered({ processWeight });
  const score = steering.scorer(makeScorer({ ...reward, combination: "gdpo" }));
  const members = () => {
    const now = atStep(score, 0);
    return now.regroup!([wrong, toyTrajectory(["nothing"])].map((each) => now(each))).map(
      (each) => each.reward,
    );
  };
  const [before] = members();
  goneWrong(steering);
  expect(members()[0]).toBeCloseTo(before! / 2, 9);
});

test("the source of training is told what the run has shown, and asks for harder tasks from then on", () => {
  const guides: (Guide | undefined)[] = [];
  const inner: TaskSource = {
    measured: true,
    batch(_step, _size, _refill, guide) {
      guides.push(guide);
      return [toyTask];
    },
  };
  const steering = steered({ processWeight });
  const solved = new Map([["a", { episodes: 2, right: 1 }]]);
  const source = steering.source(inner, solved);
  expect(source.batch(0, 1)).toEqual([toyTask]);
  goneWrong(steering);
  source.batch(2, 1, 1);
  expect(guides).toEqual([
    { harder: 0, solved },
    { harder: 0.25, solved },
  ]);
  expect(source.measured).toBe(true);
});

test("of frozen roles no sequence is learnt from, and afterwards all are", () => {
  const steering = steered({ freezeRoles: { when: { window: 1 }, act: { steps: 2 } } });
  const config = rlConfig.parse({ preset: "dmi" });
  const learnt = (seat: string, done: number) =>
    roleRules({ steering, config, seed: 1 }, done, [])!.learnt({ seat, segments: [] });
  expect(learnt("planner", 3)).toBe(true);
  steering.observe(step(3, { "roles/similarity": 0.9, "roles/length_ratio": 0.9 }));
  const all = ["planner", "analyst", "drafter", "verifier", "summarizer"];
  expect(all.filter((seat) => learnt(seat, 3))).toEqual(["analyst", "verifier"]);
  expect(all.filter((seat) => learnt(seat, 4))).toEqual(["analyst", "verifier"]);
  expect(all.filter((seat) => learnt(seat, 5))).toEqual(all);
});
