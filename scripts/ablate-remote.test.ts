import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Project, toyProject } from "./testing/toy-project.ts";
import { schooled } from "./testing/toy-school.ts";
import { type Serving, serving, type ToyServed } from "./testing/toy-served.ts";

/** Cells at once, against a server of our own API in this process. */
let project: Project;
let toys: Serving;
let server: ToyServed;
let base: string;
beforeAll(async () => {
  project = toyProject();
  base = await schooled(project);
  toys = await serving(base);
  server = await toys.start({ maxAdapters: 16 });
}, 120_000);
afterAll(async () => {
  await toys?.close();
  project.remove();
});

const file = (what: string, more: string) => `name: ${what}
config: train.yaml
what: ${what}
atOnce: 2
seeds: [1]
set:
  model: { path: ${base}, lora: { rank: 4, alpha: 8 } }
  endpoint.servers: [${server.url}]
  env.maxTurns: 3
  rl.slots: 512
  eval.modes: [greedy]
  eval.benchmarks: [{ name: dev, source: { kind: jsonl, path: ${project.at("questions.jsonl")} } }]
${more}`;

test("runs at once publish under names of their own, and wait for the warm-up that they share", async () => {
  const path = project.write(
    "cells.yaml",
    file(
      "train",
      `  sft.steps: 2
  sft.slots: 512
  sft.source: { kind: trajectories, path: ${project.at("demonstrations.jsonl")} }
cells: { f1: { reward.weights: { f1: 1 } }, none: { rl.filter: spread } }
`,
    ),
  );
  const out = project.at("cells");
  const { code, stderr, events } = await project.forager("ablate", path, "--out", out, "--json");
  expect(code, stderr).toBe(0);
  const stepsOf = (phase: string) =>
    new Set(events.flatMap((each) => (each.event === "step" && each.phase === phase ? [each.cell] : [])));
  expect([...stepsOf("sft")]).toEqual(["base"]);
  expect([...stepsOf("rl")].sort()).toEqual(["base", "f1", "none"]);
  for (const cell of ["base", "f1", "none"])
    expect(
      server.calls.some((call) => call.startsWith("generate ") && call.includes(cell)),
      cell,
    ).toBe(true);
  expect(server.adapters()).toEqual([]);
  expect(stderr).toMatch(/have in common: \d+ played, [1-9]\d* taken from another cell/);
  const { rows } = JSON.parse(readFileSync(`${out}/ablation.json`, "utf8")) as { rows: object[] };
  expect(rows).toHaveLength(3);
}, 120_000);

test("evaluations at once ask the server's model", async () => {
  const path = project.write("evaluations.yaml", file("evaluate", "grid: { search.budget: [0] }\n"));
  const before = server.calls.length;
  const out = project.at("evaluations");
  const { code, stderr, stdout } = await project.forager("ablate", path, "--out", out);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^budget=0 +dev, greedy/m);
  expect(server.calls.slice(before)).toContain("generate base");
}, 60_000);
