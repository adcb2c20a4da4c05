import { expect, test } from "vitest";
import type { EvalResult } from "./evaluate.ts";
import { compareResults, comparisonTable, evaluationTable, resultLine } from "./table.ts";
import { rateOf } from "./wilson.ts";

const rate = (right: number, n: number) => rateOf(Array.from({ length: n }, (_, i) => (i < right ? 1 : 0)));
const result = (step: number, right: number, over: Partial<EvalResult> = {}): EvalResult => ({
  step,
  mode: "greedy",
  benchmark: "test",
  samples: 1,
  ...rate(right, 300),
  standardError: 0.02,
  f1: 0.5,
  coverEm: 0.5,
  byHops: { 1: rate(100, 100), 2: rate(right - 100, 200) },
  byDataset: { world: rate(right, 300) },
  emAt: { 50: rate(Math.floor(right / 6), 50) },
  passAt: {},
  turns: 2.5,
  searches: 1.5,
  invalidActions: 0,
  policyTokens: 50,
  noSearch: 0,
  outcomes: { answered: 300 },
  infra: 0,
  infraShare: 0,
  valid: true,
  ...over,
});

test("before and after: change, and whether the intervals touch", () => {
  const comparison = compareResults(result(0, 150), result(40, 279));
  expect(comparison.steps).toEqual([0, 40]);
  expect(comparison.rows.map(({ label, apart }) => [label, apart])).toEqual([
    ["all", true],
    ["EM@50", true],
    ["1 hop", false],
    ["2 hops", true],
  ]);
  expect(comparison.rows[0]?.change).toBeCloseTo(0.43, 12);
  expect(comparison.rows[0]?.before).toEqual(rate(150, 300));
});

test("the table for people", () => {
  expect(comparisonTable(compareResults(result(0, 150), result(40, 279)))).toBe(
    [
      "test, greedy    n            EM, step 0           EM, step 40  change  95 % intervals apart",
      "all           300  0.500 [0.444, 0.556]  0.930 [0.895, 0.954]  +0.430                   yes",
      "EM@50          50  0.500 [0.366, 0.634]  0.920 [0.812, 0.968]  +0.420                   yes",
      "1 hop         100  1.000 [0.963, 1.000]  1.000 [0.963, 1.000]  +0.000                    no",
      "2 hops        200  0.250 [0.195, 0.314]  0.895 [0.845, 0.930]  +0.645                   yes",
      "turns                              2.50                  2.50",
      "searches                           1.50                  1.50",
    ].join("\n"),
  );
});

test("an invalid evaluation says so everywhere", () => {
  const bad = result(40, 150, { infra: 30, infraShare: 0.1, valid: false });
  const text = comparisonTable(compareResults(result(0, 150), bad));
  expect(text).toContain("Not a measurement");
  expect(text).toMatch(/failed episodes +0\.0 % +10\.0 %/);
  expect(evaluationTable([bad])).toContain("30 (invalid)");
  expect(resultLine(bad)).toContain("failed 30 (invalid)");
});

test("one line for the console names hops as hops; a measurement that is none has no change", () => {
  expect(resultLine(result(0, 150))).toContain("  1-hop 1.000 2-hop 0.250  turns");
  const none = result(40, 0, { n: 0, em: 0, emAt: {}, byHops: {} });
  expect(comparisonTable(compareResults(result(0, 150), none))).toMatch(/all +300\/0 .*– {2,}– {2,}–\n/);
});

test("every evaluation of a run, EM at the step beside EM@k", () => {
  const [head, first, second] = evaluationTable([
    result(0, 150),
    result(50, 200, { mode: "sampled", emAt: {} }),
  ]).split("\n");
  expect(head?.split(/ {2,}/)).toEqual([
    "step",
    "benchmark",
    "mode",
    "n",
    "EM [95 %]",
    "EM@50",
    "1 hop",
    "2 hops",
    "F1",
    "turns",
    "searches",
    "failed",
  ]);
  expect(first).toContain("0.500 [0.444, 0.556]");
  expect(second).toMatch(/^50 +test +sampled +300 +0\.667 \[0\.612, 0\.718\] +– /);
});

test("data sets get rows where there is more than one; a drop is written with a minus", () => {
  const two = { byDataset: { a: rate(50, 100), b: rate(60, 200) } };
  const { rows } = compareResults(
    result(0, 150, two),
    result(1, 140, { byDataset: { ...two.byDataset, a: rate(40, 100) } }),
  );
  expect(rows.map(({ label }) => label)).toEqual(["all", "EM@50", "1 hop", "2 hops", "a", "b"]);
  expect(comparisonTable(compareResults(result(0, 150), result(1, 140)))).toContain("−0.033");
});

test("cost is a column where somebody named prices", () => {
  const costed = result(1, 150, { cost: { currency: "USD", total: 12.3, perQuestion: 0.041, uncounted: 2 } });
  expect(
    evaluationTable([result(0, 150), costed])
      .split("\n")
      .map((line) => line.split(/ {2,}/).at(-2)),
  ).toEqual(["cost", "–", "over 12.30 USD"]);
  expect(evaluationTable([result(0, 150)])).not.toContain("cost");
  expect(resultLine(costed)).toContain("  cost over 12.30 USD");
});
