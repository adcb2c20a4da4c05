import { expect, test } from "vitest";
import { algorithmOf, rlConfig, sftConfig, sftStages, sftSteps } from "./config.ts";
import { presets } from "./presets.ts";

test("a preset is its row", () => {
  for (const [name, row] of Object.entries(presets))
    expect(algorithmOf(rlConfig.parse({ preset: name }))).toEqual(row);
});

test("a key of the YAML wins over the preset's, zero included", () => {
  const algorithm = algorithmOf(
    rlConfig.parse({ preset: "grpo", klCoefficient: 0, clipLow: 0, filter: "spread" }),
  );
  expect(algorithm).toEqual({ ...presets.grpo, klCoefficient: 0, clipLow: 0, filter: "spread" });
});

test("the user's recipe: centred, token mean, clip-higher, no KL, filter on the reward", () => {
  expect(algorithmOf(rlConfig.parse({}))).toEqual({
    advantage: "drGrpo",
    filter: "spread",
    filterMetric: "reward",
    surrogate: "ppoClip",
    aggregation: "tokenMean",
    clipLow: 0.2,
    clipHigh: 0.28,
    kl: "none",
    klCoefficient: 0,
  });
});

test("stages of a warm-up follow each other; no steps, no stages", () => {
  const sft = sftConfig.parse({
    steps: 10,
    more: [{ steps: 4 }, { steps: 1, source: { kind: "experts", habits: "hasty" } }],
  });
  expect(sftStages(sft).map(({ from, steps }) => [from, steps])).toEqual([
    [0, 10],
    [10, 4],
    [14, 1],
  ]);
  expect(sftSteps(sft)).toBe(15);
  expect(sftStages(sftConfig.parse({ more: [{ steps: 4 }] }))).toEqual([]);
});
