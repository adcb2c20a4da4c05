import { join } from "node:path";
import { expect, test } from "vitest";
import { loadAblation } from "../configs/load-ablation.ts";
import type { Config } from "../configs/schema.ts";
import { packageRoot } from "../core/package-root.ts";
import { warmUpKey } from "./ablation-keys.ts";

/** What the shipped ablations of the team hold equal, and who warms up together. */
const cellsOf = (name: string) => {
  const { cells } = loadAblation(join(packageRoot(), "configs/ablations", `${name}.yaml`));
  return new Map(cells.map((cell) => [cell.name, cell.loaded.config]));
};
/** Names of the cells that start from one warm-up, in the order of the cells. */
function groupsOf(cells: ReadonlyMap<string, Config>): string[][] {
  const groups = new Map<string, string[]>();
  for (const [name, config] of cells) {
    const key = warmUpKey(config);
    groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  return [...groups.values()];
}

test("baselines: one world, one set of questions, one number of sampled tokens, two warm-ups", () => {
  const cells = cellsOf("baselines");
  expect(groupsOf(cells)).toEqual([
    ["team-rl", "team-sft", "b-static-pipeline"],
    ["a-single-sft", "c-single-rl"],
  ]);
  const same = (of: (config: Config) => unknown) =>
    new Set([...cells.values()].map((c) => JSON.stringify(of(c))));
  expect(same(({ data, search, eval: e }) => [data, search, e]).size).toBe(1);
  expect(same(({ rollout: { tasksPerStep, groupSize } }) => [tasksPerStep, groupSize]).size).toBe(1);
  expect(same(({ sft: { source: _, ...sft } }) => sft).size).toBe(1);
  expect(same(({ rl: { steps: _, ...rl } }) => rl).size).toBe(1);
  const steps = [...cells].flatMap(([name, { rl }]) => (rl.steps > 0 ? [name] : []));
  expect(steps).toEqual(["team-rl", "c-single-rl"]);
  expect(cells.get("team-rl")?.rl.sampledTokens).toBeGreaterThan(0);
  expect(cells.get("b-static-pipeline")?.env.team?.feedback).toBe(false);
});

test("roles: each make-up has a warm-up of its own, the reward has none", () => {
  const cells = cellsOf("roles");
  expect(groupsOf(cells)).toEqual([
    ["team", "no-process"],
    ["no-planner"],
    ["no-verifier"],
    ["no-summarizer"],
  ]);
  const on = (name: string) =>
    Object.entries(cells.get(name)!.env.team!.roles).flatMap(([role, { on }]) => (on ? [role] : []));
  expect(on("team")).toEqual(["planner", "drafter", "verifier", "summarizer"]);
  expect(on("no-planner")).toEqual(["drafter", "verifier", "summarizer"]);
  expect(on("no-verifier")).toEqual(["planner", "drafter", "summarizer"]);
  expect(on("no-summarizer")).toEqual(["planner", "drafter", "verifier"]);
  expect(cells.get("no-process")?.reward.weights).not.toHaveProperty("teamProcess");
});
