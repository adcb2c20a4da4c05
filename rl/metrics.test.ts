import { expect, test } from "vitest";
import type { Scored } from "../reward/scored.ts";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import { entropyByKind, episodeMetrics, tokenStats } from "./metrics.ts";
import type { Row } from "./row.ts";

const row = (advantages: number[]): Row => ({
  tokens: advantages.map((_, t) => t),
  mask: advantages.map((a) => (a === 0 ? 0 : 1)),
  oldLogprobs: advantages.map(() => -1),
  advantages,
  temperature: 1,
});

const ppo = { surrogate: "ppoClip", clipLow: 0.2, clipHigh: 0.28 } as const;
/** ρ = 1.5, 1.5, 0.5, 0.5 with advantages +, −, +, −. */
const moved = [1.5, 1.5, 0.5, 0.5].map((ratio) => Math.log(ratio) - 1);

test.each([
  ["ppoClip", 0.25, 0.25],
  ["cispo", 0.5, 0.5],
  // The geometric mean of the four is 0.87: inside.
  ["gspo", 0, 0],
] as const)("%s: a token counts as clipped as its surrogate clips it", (surrogate, low, high) => {
  const stats = tokenStats([row([1, -1, 1, -1])], [moved], [[1, 2, 3, 4]], { ...ppo, surrogate });
  expect(stats).toMatchObject({ clipFracLow: low, clipFracHigh: high, entropy: 2.5 });
});

test("reinforce clips nothing, so there is no fraction", () => {
  const stats = tokenStats([row([1, -1, 1, -1])], [moved], [[1, 2, 3, 4]], {
    ...ppo,
    surrogate: "reinforce",
  });
  expect(Object.keys(stats)).toEqual(["approxKl", "entropy"]);
});

test("approx_kl is k3 over policy tokens: zero on policy, never negative, finite however far off", () => {
  const stats = tokenStats([row([1, 0, -1])], [[-1, 99, -1.1]], [[0, 0, 0]], ppo);
  expect(stats.approxKl).toBeCloseTo((0 + (Math.exp(-0.1) - 1 + 0.1)) / 2, 12);
  expect(tokenStats([row([1])], [[999]], [[0]], ppo).approxKl).toBeCloseTo(Math.exp(20) - 21, 0);
});

test("no tokens, no NaN", () => {
  expect(tokenStats([], [], [], ppo)).toEqual({ approxKl: 0, clipFracLow: 0, clipFracHigh: 0, entropy: 0 });
  expect(Object.values(episodeMetrics([], [])).every(Number.isFinite)).toBe(true);
});

const scored = (em: number, over: Partial<Scored> = {}): Scored => ({
  ...toyTrajectory(["<answer>x</answer>", ["observation", "four"]]),
  parts: { exactMatch: em, answerTag: 1 },
  reward: em || 0.1,
  ...over,
});

test("episodes: reward, parts, lengths, hops, outcomes; failures are counted and never averaged", () => {
  const failed = toyTrajectory([], { outcome: "infra(retriever)" });
  const m = episodeMetrics([scored(1), scored(0, { task: { ...toyTask, hops: 2 } })], [failed]);
  expect(m).toMatchObject({
    em: 0.5,
    reward: 0.55,
    "reward/exactMatch": 0.5,
    "reward/answerTag": 1,
    "em/hops_1": 1,
    "em/hops_2": 0,
    no_search_frac: 1,
    policy_tokens: "<answer>x</answer>".length,
    observation_tokens: 4,
    correct_policy_tokens: "<answer>x</answer>".length,
    "outcome/answered": 2,
    "outcome/infra(retriever)": 1,
    episodes: 3,
  });
  expect(m.infra_frac).toBeCloseTo(1 / 3, 12);
});

test("invalid actions: how many an episode, and in how many episodes", () => {
  const wrong = (invalidActions: number) => scored(0, { ending: { ...scored(0).ending!, invalidActions } });
  expect(episodeMetrics([wrong(3), wrong(0), wrong(0), wrong(1)], [])).toMatchObject({
    invalid_actions: 1,
    invalid_frac: 0.5,
  });
});

test("the length of correct responses is absent when none is correct", () => {
  expect(episodeMetrics([scored(0)], [])).not.toHaveProperty("correct_policy_tokens");
});

test("entropy by kind averages over the tokens of that kind", () => {
  const kinds = ["think", "think", "query", "other"] as const;
  expect(
    entropyByKind([{ rows: [{ ...row([1, 1, 1, 1]), kinds }], report: { entropies: [[1, 3, 5, 7]] } }]),
  ).toEqual({ entropy_think: 2, entropy_query: 5 });
});
