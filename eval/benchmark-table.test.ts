import { expect, test } from "vitest";
import { benchmarkTable } from "./benchmark-table.ts";
import type { EvalResult } from "./evaluate.ts";
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

test("one benchmark in full: modes side by side, intervals on every rate", () => {
  const sampled = result(40, 150, {
    mode: "sampled",
    byDataset: { hotpotqa: rate(50, 100), musique: rate(100, 200) },
    passAt: { 1: 0.5, 2: 0.625 },
  });
  const greedy = result(40, 279, {
    byDataset: { hotpotqa: rate(90, 100), musique: rate(189, 200) },
    noSearch: 0.1,
  });
  expect(benchmarkTable([greedy, sampled])).toBe(
    [
      "test, step 40      n             EM greedy            EM sampled",
      "all              300  0.930 [0.895, 0.954]  0.500 [0.444, 0.556]",
      "EM@50             50  0.920 [0.812, 0.968]  0.500 [0.366, 0.634]",
      "1 hop            100  1.000 [0.963, 1.000]  1.000 [0.963, 1.000]",
      "2 hops           200  0.895 [0.845, 0.930]  0.250 [0.195, 0.314]",
      "hotpotqa         100  0.900 [0.826, 0.945]  0.500 [0.404, 0.596]",
      "musique          200  0.945 [0.904, 0.969]  0.500 [0.431, 0.569]",
      "pass@1                                   –                 0.500",
      "pass@2                                   –                 0.625",
      "F1                                   0.500                 0.500",
      "turns                                 2.50                  2.50",
      "searches                              1.50                  1.50",
      "no search                           10.0 %                 0.0 %",
      "failed episodes                          0                     0",
    ].join("\n"),
  );
});

const full = result(40, 150, {
  mode: "sampled",
  samples: 2,
  macroEm: { n: 300, em: 0.5, low: 0.25, high: 0.75 },
  passAt: { 1: 0.5, 2: 0.625 },
  atK: {
    1: { n: 300, avg: 0.5, pass: 0.5, all: 0.5, maj: 0.5 },
    2: { n: 298, avg: 0.5, pass: 0.625, all: 0.375, maj: 0.5125 },
  },
  recall: { n: 200, mean: 0.75, all: 0.5 },
  judge: { n: 299, mean: 0.625 },
  cost: { currency: "USD", total: 1.5, perQuestion: 0.005, judge: 0.3 },
});

test("everything that is there: macro mean, judge, recall, cost, and k samples in a table of their own", () => {
  const text = benchmarkTable([result(40, 279), full]);
  expect(text).toBe(
    [
      "test, step 40          n             EM greedy            EM sampled",
      "all                  300  0.930 [0.895, 0.954]  0.500 [0.444, 0.556]",
      "EM@50                 50  0.920 [0.812, 0.968]  0.500 [0.366, 0.634]",
      "1 hop                100  1.000 [0.963, 1.000]  1.000 [0.963, 1.000]",
      "2 hops               200  0.895 [0.845, 0.930]  0.250 [0.195, 0.314]",
      "mean of data sets  0/300                     –  0.500 [0.250, 0.750]",
      "F1                                       0.500                 0.500",
      "judge              0/299                     –                 0.625",
      "passages found     0/200                     –                 0.750",
      "all of them found  0/200                     –                 0.500",
      "turns                                     2.50                  2.50",
      "searches                                  1.50                  1.50",
      "no search                                0.0 %                 0.0 %",
      "USD a question                               –                0.0050",
      "USD in all                                   –                  1.50",
      "of it the judge                              –                  0.30",
      "failed episodes                              0                     0",
      "",
      "k samples, sampled    n  avg@k  pass@k  pass^k  maj@k",
      "k = 1               300  0.500   0.500   0.500  0.500",
      "k = 2               298  0.500   0.625   0.375  0.512",
    ].join("\n"),
  );
  for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

test("as Markdown the same tables; without prices, judge and samples none of it", () => {
  const text = benchmarkTable([full], { markdown: true });
  expect(text).toContain("| test, step 40 | n | EM sampled |\n| :-- | --: | --: |");
  expect(text).toContain("| USD in all |  | 1.50 |");
  expect(text).toContain("\n\n| k samples, sampled | n | avg@k | pass@k | pass^k | maj@k |");
  const plain = benchmarkTable([result(40, 279, { atK: {} })]);
  expect(plain).not.toMatch(/USD|judge|samples|passages|data sets|–/);
  expect(benchmarkTable([])).toBe("");
});
