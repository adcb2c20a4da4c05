import { expect, test } from "vitest";
import { lossTerms } from "./loss-terms.ts";

/** Two policy tokens, Δ = log π_θ − log π_ref of 1 and −1; the first and the third token count in nothing. */
const rows = [
  {
    ...{ tokens: [1, 2, 3, 4], mask: [0, 1, 0, 1], weights: [0, 0.5, 0, 0.25], temperature: 1 },
    ...{ oldLogprobs: [0, -1, 0, -1], advantages: [0, 1, 0, 1], reference: [9, -2, 9, -1] },
  },
];
const report = { policyLoss: -0.3, logprobs: [[0, -1, 9, -2]], entropies: [[9, 2, 9, 4]] };
const k3 = [Math.exp(-1), Math.exp(1) - 2] as const; // of Δ = 1 and of Δ = −1

test("the loss is policy loss + KL term − entropy bonus, each with the tokens' weights", () => {
  const terms = lossTerms(rows, report, { kl: "k3", klCoefficient: 0.1, entropyCoefficient: 0.01 });
  const kl = 0.5 * k3[0] + 0.25 * k3[1];
  expect(terms.klLoss).toBeCloseTo(0.1 * kl, 12);
  expect(terms.entropyBonus).toBeCloseTo(0.01 * (0.5 * 2 + 0.25 * 4), 12);
  expect(terms.loss).toBeCloseTo(-0.3 + 0.1 * kl - 0.02, 12);
});

test("klRef is nats a token, whatever the weights and the coefficient", () => {
  const at = (klCoefficient: number) =>
    lossTerms(rows, report, { kl: "k3", klCoefficient, entropyCoefficient: 0 }).klRef;
  expect(at(0.1)).toBeCloseTo((k3[0] + k3[1]) / 2, 12);
  expect(at(0)).toBe(at(0.1));
  expect(lossTerms(rows, report, { kl: "k2", klCoefficient: 1, entropyCoefficient: 0 }).klRef).toBeCloseTo(
    0.5,
    12,
  );
});

test("terms that are not in the loss are absent", () => {
  expect(lossTerms(rows, report, { kl: "none", klCoefficient: 0, entropyCoefficient: 0 })).toEqual({
    loss: -0.3,
  });
});
