import { expect, test } from "vitest";
import { type CellEvaluations, compareCells } from "./ablation.ts";
import { cellCurves, curveRows, showCurve } from "./ablation-curves.ts";
import { configChanges, showAblation } from "./ablation-table.ts";
import type { StoredEvaluation } from "./stored.ts";
import { tokenCount } from "./table-words.ts";
import { answered } from "./testing.ts";

const stored = (
  right: (place: number) => boolean,
  over: Partial<StoredEvaluation> = {},
): StoredEvaluation => ({
  ...{ folder: "f", benchmark: "dev", mode: "greedy", step: 4, samples: 1, questions: 20 },
  manifest: { normalizer: "squad" },
  records: answered(20, right),
  ...over,
});
const cell = (name: string, ...evaluations: (StoredEvaluation | undefined)[]): CellEvaluations => ({
  name,
  bySeed: new Map(evaluations.flatMap((each, i) => (each ? [[i + 1, [each]] as const] : []))),
});

const base = cell(
  "base",
  stored((q) => q < 10),
  stored((q) => q < 9),
  stored((q) => q < 11),
);
const better = cell(
  "better",
  stored((q) => q < 18),
  stored((q) => q < 18),
  stored((q) => q < 19),
);
const same = cell(
  "same",
  stored((q) => q < 9),
  stored((q) => q < 11),
  stored((q) => q < 10),
);
const options = { metric: "em", trained: true };

test("cells against the base, seed by seed and question by question, Holm over all", () => {
  const rows = compareCells([base, better, same], options);
  expect(rows.map((row) => [row.cell, row.mean.toFixed(3), row.against?.verdict])).toEqual([
    ["base", "0.500", undefined],
    ["better", "0.917", "higher"],
    ["same", "0.500", "noise"],
  ]);
  const [, one] = rows;
  expect(one?.against).toMatchObject({ seeds: [1, 2, 3], questions: 20, over: "seeds", scorer: [] });
  expect(one?.against?.bySeed.map((each) => each.toFixed(2))).toEqual(["0.40", "0.45", "0.40"]);
  expect(one?.against?.adjustedP).toBeCloseTo(2 * (one?.against?.p as number), 10);
});

test("one seed claims nothing about training, and is a comparison like any other for an evaluation", () => {
  const cells = [
    cell(
      "base",
      stored((q) => q < 5),
    ),
    cell(
      "better",
      stored(() => true),
    ),
  ];
  expect(compareCells(cells, options)[1]?.against?.verdict).toBe("one seed");
  expect(compareCells(cells, { ...options, trained: false })[1]?.against?.verdict).toBe("higher");
});

test("seeds that failed on either side are left out; without one in common there is no difference", () => {
  const [first, second] = [stored(() => true), stored(() => true)];
  const partial = cell("partial", undefined, second);
  expect(compareCells([base, partial], options)[1]?.against).toMatchObject({ seeds: [2] });
  const apart = compareCells([cell("base", first), partial], options);
  expect(apart[1]).toMatchObject({ cell: "partial", mean: 1 });
  expect(apart[1]).not.toHaveProperty("against");
  const gone = compareCells([cell("base"), better], options);
  expect(gone.map((row) => row.cell)).toEqual(["better"]);
  const invalid = cell(
    "invalid",
    stored(() => true, { valid: false }),
  );
  expect(compareCells([base, invalid], options)).toHaveLength(1);
});

test("a cell that is scored otherwise is compared, and says so", () => {
  const strict = cell(
    "strict",
    stored(() => true, { manifest: { normalizer: "strict" } }),
  );
  const rows = compareCells([base, strict], { ...options, trained: false });
  expect(rows[1]?.against?.scorer).toEqual(["normalizer squad → strict"]);
  const report = { name: "x", metric: "em", notes: ["a note"], cells: [], rows, failed: [], curves: [] };
  expect(showAblation(report, false)).toContain("strict is scored otherwise (normalizer squad → strict)");
});

const curve = {
  metric: "training em",
  points: [1, 2, 3].flatMap((step) =>
    [1, 2].flatMap((seed) => [
      { cell: "base", seed, step, value: 0.1 * step + 0.1 * seed },
      { cell: "other", seed, step, value: 0.1 },
    ]),
  ),
};

test("curves are means over seeds with their range, as text on one scale and point by point", () => {
  const [own] = cellCurves(curve);
  expect(own?.cell).toBe("base");
  expect(own?.points[2]).toMatchObject({ step: 3, seeds: 2 });
  expect(own?.points[2]?.mean).toBeCloseTo(0.45, 10);
  expect(own?.points[2]?.low).toBeCloseTo(0.4, 10);
  const text = showCurve(curve, false);
  expect(text).toMatch(/^training em, after step +1 +2 +3$/m);
  expect(text).toMatch(/^base +0\.250 +0\.350 +0\.450 +▄▆█$/m);
  expect(text).toMatch(/^other +0\.100 +0\.100 +0\.100 +▁▁▁$/m);
  const rows = curveRows([curve]);
  expect(rows[0]).toEqual(["metric", "cell", "seed", "step", "value"]);
  expect(rows).toHaveLength(13);
});

test("a long curve shows its ends and few steps between", () => {
  const points = Array.from({ length: 100 }, (_, step) => ({ cell: "base", seed: 1, step, value: step }));
  const [head = "", line = ""] = showCurve({ metric: "em", points }, false).split("\n");
  expect(head.trim().split(/ +/)).toHaveLength(3 + 7);
  expect(head).toMatch(/ 0 .* 99/);
  expect(line.trim().split(/ +/).at(-1)?.length).toBeLessThanOrEqual(24);
});

test("the exact difference of two configs, key by key", () => {
  const before = { rl: { filter: "spread", steps: 4 }, eval: { modes: ["greedy"] }, env: {} };
  const after = { rl: { steps: 4, kl: "k3" }, eval: { modes: ["greedy", "sampled"] }, env: {} };
  expect(configChanges(before, after)).toEqual([
    { key: "rl.filter", base: '"spread"', cell: undefined },
    { key: "rl.kl", base: undefined, cell: '"k3"' },
    { key: "eval.modes", base: '["greedy"]', cell: '["greedy","sampled"]' },
  ]);
  const team = { env: { name: "team", team: { rounds: 3 } }, reward: { weights: { f1: 1 } } };
  const alone = { env: { name: "researcher" }, reward: { weights: "own" } };
  expect(configChanges(team, alone)).toEqual([
    { key: "env.name", base: '"team"', cell: '"researcher"' },
    { key: "env.team", base: "{…}", cell: undefined },
    { key: "reward.weights", base: undefined, cell: '"own"' },
    { key: "reward.weights.f1", base: "1", cell: undefined },
  ]);
  expect(configChanges(alone, team)).toContainEqual({ key: "env.team.rounds", base: undefined, cell: "3" });
  expect(configChanges(before, before)).toEqual([]);
});

test("a cell that is asked something else is held against the first that is asked the same, done or not", () => {
  const of = (name: string, benchmark: string, right: number) => ({
    ...cell(
      name,
      stored((q) => q < right, { benchmark }),
    ),
    asks: [benchmark],
  });
  const cells = [of("a", "dev", 4), of("b", "sums", 12), of("c", "sums", 18), of("d", "dev", 5)];
  const against = (all: readonly CellEvaluations[]) =>
    compareCells(all, { metric: "em", trained: false }).map(({ cell: name, benchmark, against: one }) => [
      ...[name, benchmark, one?.difference.toFixed(2)],
    ]);
  expect(against(cells)).toEqual([
    ["a", "dev", undefined],
    ["d", "dev", "0.05"],
    ["b", "sums", undefined],
    ["c", "sums", "0.30"],
  ]);
  const unfinished = { ...cell("b", undefined), asks: ["sums"] };
  expect(against(cells.with(1, unfinished)).at(-1)).toEqual(["c", "sums", undefined]);
});

test("what each cell's training sampled stands beside its result, where cells are runs", () => {
  const report = {
    ...{ name: "x", metric: "em", notes: [], failed: [], curves: [] },
    rows: compareCells([base, better], options),
    cells: [
      { name: "base", changes: [], sampledTokens: 812_345 },
      { name: "better", changes: [], sampledTokens: 0 },
    ],
  };
  expect(showAblation(report, false)).toMatch(/sampled tokens\nbase .* 812 k\nbetter .* 0$/);
  const unknown = { ...report, cells: report.cells.map(({ name, changes }) => ({ name, changes })) };
  expect(showAblation(unknown, false)).not.toContain("sampled tokens");
  expect([999, 1000, 12_340, 999_499, 999_500, 480e6, 1e9].map(tokenCount)).toEqual([
    ...["999", "1.00 k", "12.3 k", "999 k", "1.00 M", "480 M", "1.00 G"],
  ]);
});
