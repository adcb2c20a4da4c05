import { expect, test } from "vitest";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import type { Outcome } from "../rollout/trajectory.ts";
import { checkSampled, checkUpdate, DivergedError } from "./diverged.ts";

const weights = (...data: number[]) => ({
  w: { shape: [data.length], dtype: "float32" as const, data: Float32Array.from(data) },
});
const step = {
  policyLoss: -0.1,
  gradNorm: 2,
  weights: weights(1, -2),
  updates: 6,
  rateKey: "rl.schedule.learningRate",
};

test("an ordinary step passes, large gradients included", () => {
  checkUpdate(step);
  checkUpdate({ ...step, gradNorm: 1e30, weights: weights(-1e6, 0) });
});

test.each([
  ["a loss that is no number", { policyLoss: Number.NaN }, /loss NaN, gradient norm 2/],
  ["an infinite gradient", { gradNorm: Number.POSITIVE_INFINITY }, /gradient norm Infinity/],
  ["a weight that is no number", { weights: weights(0, Number.NaN) }, /w holds NaN/],
  ["a weight that squares out of float32", { weights: weights(2 ** 100) }, /w holds 1\.26/],
])("%s names the step, what was found and the knob", (_, over, got) => {
  const check = () => checkUpdate({ ...step, ...over });
  expect(check).toThrow(DivergedError);
  expect(check).toThrow(got);
  expect(check).toThrow(/optimiser step 7.*lower rl\.schedule\.learningRate/);
});

const failed = (outcome: Outcome) =>
  toyTrajectory([], { outcome, failure: "the policy's logits are not numbers" });
const rolled = (over: object) => ({ groups: [], tooFew: [], leftOut: [], retried: [], ...over });

test("a policy of which no episode could be sampled has diverged", () => {
  const none = rolled({
    tooFew: [{ task: toyTask, members: [] }],
    leftOut: [failed("infra(model)"), failed("infra(model)")],
  });
  expect(() => checkSampled(none)).toThrow(DivergedError);
  expect(() => checkSampled(none)).toThrow(/logits are not numbers.*lower learning rate/);
});

test.each([
  ["nothing was played", rolled({})],
  [
    "one episode came to an end",
    rolled({ tooFew: [{ task: toyTask, members: [toyTrajectory([])] }], leftOut: [failed("infra(model)")] }),
  ],
  [
    "the search engine failed as well",
    rolled({ leftOut: [failed("infra(model)"), failed("infra(retriever)")] }),
  ],
  ["the run was called off", rolled({ leftOut: [failed("cancelled")] })],
])("not where %s", (_, each) => {
  expect(checkSampled(each)).toBe(each);
});
