import { expect, test } from "vitest";
import { weigh } from "./aggregation.ts";
import { type AggregationName, aggregations } from "./reference/aggregate.ts";
import type { Row } from "./row.ts";

const row = (n: number, prompt = 3): Row => {
  const mask = [...Array(prompt).fill(0), ...Array(n).fill(1)] as number[];
  return {
    tokens: mask.map((_, t) => t),
    mask,
    oldLogprobs: mask.map(() => 0),
    advantages: mask,
    temperature: 1,
  };
};
const denominators = { sampledTokens: 20, constantTokens: 16 };

/** Σ w·ℓ with token losses 1 in the first row and 2 in the second: the golden vectors of two and eight tokens. */
const loss = (name: AggregationName) =>
  weigh([row(2), row(8)], name, denominators).reduce(
    (sum, r, i) => sum + r.weights.reduce((s, w) => s + w * (i + 1), 0),
    0,
  );

test.each([
  ["tokenMean", 1.8],
  ["seqMeanTokenMean", 1.5],
  ["seqMeanTokenSum", 9],
  ["constant", 0.5625],
  ["tokenMeanSampled", 0.9],
] as [AggregationName, number][])("%s weighs the golden losses to %d", (name, expected) => {
  expect(loss(name)).toBeCloseTo(expected, 12);
});

test.each(Object.keys(aggregations) as AggregationName[])(
  "%s leaves out rows without a policy token",
  (name) => {
    const weighted = weigh([row(0), row(4)], name, denominators);
    expect(weighted).toHaveLength(1);
    expect(weighted[0]!.weights.slice(0, 3)).toEqual([0, 0, 0]);
  },
);
