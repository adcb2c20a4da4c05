import { expect, test } from "vitest";
import type { Scored } from "../reward/scored.ts";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import { entropyByKind, episodeMetrics, tokenStats } from "./metrics.ts";
import type { Row } from "./row.ts";

const row = (advantages: number[]): Row => ({
  tokens: advantages.map((_, t) => t),
  mask: advantages.map((a) => (a === 0 ? 0 : 1)),
  logprobs: advantages.map(() => -1),
  advantages,
  temperature: 1,
});

test("clip fractions count a token only where its loss is clipped", () => {
  // ρ = 1.5, 1.5, 0.5, 0.5 with advantages +, −, +, −: high clips only the first, low only the last.
  const now = [Math.log(1.5), Math.log(1.5), Math.log(0.5), Math.log(0.5)].map((d) => d - 1);
  const stats = tokenStats([row([1, -1, 1, -1])], [now], [[1, 2, 3, 4]], { clipLow: 0.2, clipHigh: 0.28 });
  expect(stats.clipFracHigh).toBe(0.25);
  expect(stats.clipFracLow).toBe(0.25);
  expect(stats.entropy).toBe(2.5);
});

test("approx_kl is k3 over policy tokens: zero on policy, never negative", () => {
  const stats = tokenStats([row([1, 0, -1])], [[-1, 99, -1.1]], [[0, 0, 0]], {
    clipLow: 0.2,
    clipHigh: 0.28,
  });
  expect(stats.approxKl).toBeCloseTo((0 + (Math.exp(-0.1) - 1 + 0.1)) / 2, 12);
});

test("no tokens, no NaN", () => {
  expect(tokenStats([], [], [], { clipLow: 0.2, clipHigh: 0.2 })).toEqual({
    approxKl: 0,
    clipFracLow: 0,
    clipFracHigh: 0,
    entropy: 0,
  });
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

test("the length of correct responses is absent when none is correct", () => {
  expect(episodeMetrics([scored(0)], [])).not.toHaveProperty("correct_policy_tokens");
});

test("entropy by kind averages over the tokens of that kind", () => {
  const kinds = ["think", "think", "query", "other"] as const;
  expect(
    entropyByKind([{ rows: [{ ...row([1, 1, 1, 1]), kinds }], report: { entropies: [[1, 3, 5, 7]] } }]),
  ).toEqual({ entropy_think: 2, entropy_query: 5 });
});
