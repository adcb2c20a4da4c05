import { expect, test } from "vitest";
import { scheduleConfig } from "./config.ts";
import { learningRateAt } from "./schedule.ts";

const at = (step: number, over: object) =>
  learningRateAt(step, 10, scheduleConfig.parse({ learningRate: 1, ...over }));

test("constant without warm-up is the peak from the first step", () => {
  expect([0, 5, 9].map((s) => at(s, {}))).toEqual([1, 1, 1]);
});

test("warm-up rises linearly and reaches the peak at its last step", () => {
  expect([0, 1, 3, 4].map((s) => at(s, { warmupSteps: 4 }))).toEqual([0.25, 0.5, 1, 1]);
});

test("linear decay ends at the final fraction on the last step", () => {
  expect(at(9, { decay: "linear", finalFraction: 0.1 })).toBeCloseTo(0.1, 12);
  expect(at(5, { decay: "linear", decayFrom: 0.6 })).toBe(1);
  expect(at(7, { decay: "linear", decayFrom: 0.6, finalFraction: 0 })).toBeCloseTo(0.5, 12);
});
