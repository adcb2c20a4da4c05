import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { loadAblation } from "./load-ablation.ts";

const shipped = join(packageRoot(), "configs/ablations");
const folder = mkdtempSync(join(tmpdir(), "forager-ablation-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const load = (text: string, overrides: readonly string[] = []) => {
  const path = join(folder, "ablation.yaml");
  writeFileSync(path, `config: forager:tiny.yaml\n${text}`);
  return loadAblation(path, overrides);
};
const names = (text: string) => load(text).cells.map(({ name }) => name);

test("each changes one key at a time, all combines them, and named cells stand beside", () => {
  const grid = "grid: { rl.filter: [spread, correct], rl.advantage: [grpo] }\n";
  expect(names(grid)).toEqual(["base", "filter=spread", "filter=correct", "advantage=grpo"]);
  expect(names(`${grid}design: all\n`)).toEqual([
    "base",
    "filter=spread_advantage=grpo",
    "filter=correct_advantage=grpo",
  ]);
  const [, , both] = load(
    "grid: { rl.filter: [spread] }\ncells: { both: { rl.filter: correct, env.maxTurns: 2 } }\n",
  ).cells;
  expect(both).toMatchObject({
    name: "both",
    loaded: { config: { rl: { filter: "correct", steps: 4 }, env: { maxTurns: 2 } } },
  });
});

test("set and overrides change the base of every cell, and a cell's own value wins", () => {
  const text = "set: { rl.steps: 3, rl.filter: spread }\ngrid: { rl.filter: [correct] }\n";
  const { cells } = load(text, ["rl.steps=2"]);
  expect(cells.map(({ loaded: { config } }) => [config.rl.steps, config.rl.filter])).toEqual([
    [2, "spread"],
    [2, "correct"],
  ]);
});

test("cells with one config are one cell, and the base is among them", () => {
  const { cells, same } = load("grid: { rl.steps: [4, 5] }\ncells: { longer: { rl.steps: 5 } }\n");
  expect(cells.map(({ name }) => name)).toEqual(["base", "steps=5"]);
  expect(same).toEqual(["steps=4 = base", "longer = steps=5"]);
});

test("values of any kind name folders, and no two the same one", () => {
  const maps = names("grid: { reward.weights: [{ exactMatch: 1 }, { exactMatch: 1, f1: 0.5 }] }\n");
  expect(new Set(maps).size).toBe(3);
  for (const name of maps) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._=-]*$/);
  expect(names("grid: { rl.schedule.learningRate: [1e-3], sft.schedule.learningRate: [1e-3] }\n")).toEqual([
    "base",
    "rl.schedule.learningRate=0.001",
    "sft.schedule.learningRate=0.001",
  ]);
});

test.each([
  ["grid: { rl.fliter: [none] }", /ablation\.yaml:2: unknown key `rl\.fliter`.*Did you mean `filter`/s],
  ["grid: { reward.filter: [none] }", /unknown key `reward\.filter`.*Did you mean `rl\.filter`/s],
  ["cells: { odd: { rl.steps: many } }", /ablation\.yaml:2: `rl\.steps` is wrong/],
  ["cells: { odd: { env.maxTurns.x: 1 } }", /`env\.maxTurns` is a single value/],
  ["set: { rl: { steps: 2 } }", /`rl` is a whole section.*rl\.filter/s],
  ["grid: { run.seed: [1, 2] }", /`run\.seed` differs from cell to cell by itself.*`seeds`/s],
  ["cells: { base: { rl.steps: 2 } }", /two cells are called `base`/],
  ["grid: { rl.steps: [4] }", /nothing to compare.*got steps=4 = base/s],
  ["gird: { rl.steps: [5] }", /unknown key `gird`.*Did you mean `grid`/s],
  ["grid: { rl.steps: [5] }\nseeds: [1, 1]", /each seed once/],
  ["grid: { rl.steps: 5 }", /`grid\.rl\.steps` is wrong|list/],
])("%s is one clear error", (text, expected) => {
  expect(() => load(`${text}\n`)).toThrow(expected);
});

test.each(readdirSync(shipped))("configs/ablations/%s loads, every cell another config", (name) => {
  const { spec, cells, same } = loadAblation(join(shipped, name));
  expect(name).toBe(`${spec.name}.yaml`);
  expect(cells.length).toBeGreaterThan(2);
  expect(same).toEqual([]);
  if (spec.what === "train") expect(spec.seeds?.length).toBeGreaterThanOrEqual(3);
});

test("a cell may stand over another config than the base, and the base may have a name", () => {
  writeFileSync(
    join(folder, "other.yaml"),
    "extends: forager:tiny.yaml\nrl: { steps: 7, filter: correct }\n",
  );
  const { cells } = load(
    "base: whole\nset: { rl.filter: spread }\ncells: { other: { config: other.yaml, env.maxTurns: 2 }, plain: { env.maxTurns: 2 } }\n",
  );
  expect(cells.map(({ name }) => name)).toEqual(["whole", "other", "plain"]);
  expect(
    cells.map(({ loaded: { config } }) => [config.rl.steps, config.rl.filter, config.env.maxTurns]),
  ).toEqual([
    [4, "spread", 4],
    [7, "spread", 2],
    [4, "spread", 2],
  ]);
  expect(() => load("base: whole\ncells: { whole: { rl.steps: 1 } }\n")).toThrow(
    /two cells are called `whole`/,
  );
  expect(() => load("cells: { other: { config: gone.yaml } }\n")).toThrow(/config not found/);
  expect(() => load("grid: { config: [other.yaml] }\n")).toThrow(/whole section/);
});
