import { expect, test } from "vitest";
import { alarmsOf, stepLine } from "./console.ts";

const healthy = {
  em: 0.5,
  reward: 0.55,
  pg_loss: -0.01,
  entropy: 0.1,
  approx_kl: 0.001,
  clip_frac_low: 0.01,
  clip_frac_high: 0,
  grad_norm: 0.4,
  zero_std_frac: 0.3,
  searches: 1.8,
  policy_tokens: 30,
  seconds_rollout: 1.24,
  seconds_update: 0.5,
};

test("one line a step", () => {
  expect(stepLine("rl", 7, 40, healthy)).toMatchInlineSnapshot(
    `"rl  7/40  em 0.500  reward 0.550  pg -0.0100  H 0.100  kl 0.0010  clip 0.010/0.000  grad 0.40  zero 0.30  search 1.80  tok 30  1.2+0.5s"`,
  );
  expect(
    stepLine("sft", 7, 40, { loss: 1.5, grad_norm: 0.4, lr: 2e-3, tokens_per_second: 25_000 }),
  ).toMatchInlineSnapshot(`"sft  7/40  loss 1.500  grad 0.40  lr 2.0e-3  tok/s 25000"`);
});

test("a healthy step raises no alarm", () => {
  expect(alarmsOf({ ...healthy, "em/hops_1": 0.9, "em/hops_2": 0.5 })).toEqual([]);
});

test.each([
  ["zero_std_frac", 0.95],
  ["no_search_frac", 0.6],
  ["infra_frac", 0.1],
  ["grad_norm", 12],
  ["approx_kl", 0.5],
  ["invalid_actions", 0.7],
])("%s at %d is an alarm that names it", (metric, value) => {
  expect(alarmsOf({ ...healthy, [metric]: value })).toEqual([
    expect.stringMatching(new RegExp(`^${metric} `)),
  ]);
});

test("the collapse that a mean hides: one hop solved, the rest lost", () => {
  expect(alarmsOf({ ...healthy, searches: 1, "em/hops_1": 0.93, "em/hops_2": 0, "em/hops_3": 0 })).toEqual([
    expect.stringContaining("one search for everything"),
  ]);
});

test("no entropy is an alarm only while answers are wrong", () => {
  expect(alarmsOf({ ...healthy, entropy: 0.001 })).toHaveLength(1);
  expect(alarmsOf({ ...healthy, entropy: 0.001, em: 0.95 })).toEqual([]);
  expect(alarmsOf({ ...healthy, entropy: 0, updates: 0 })).toEqual([]);
});
