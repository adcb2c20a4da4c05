import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  checkpointPath,
  createRunFolder,
  forgetEvals,
  listCheckpoints,
  pruneCheckpoints,
  type RunFolder,
  sweep,
} from "./run-folder.ts";

let parent = "";
let run: RunFolder;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "forager-folder-"));
  run = createRunFolder(join(parent, "run"));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const save = (phase: "sft" | "rl", ...steps: number[]) => {
  for (const step of steps) {
    mkdirSync(checkpointPath(run, phase, step));
    writeFileSync(join(checkpointPath(run, phase, step), "state.json"), "{}");
  }
};
const names = () => listCheckpoints(run).map(({ phase, step }) => `${phase} ${step}`);

describe("a new run folder", () => {
  test("may be one whose start was cut short", () => {
    for (const name of ["meta.json", "run.lock", "run.pid", "config.yaml.7.tmp"])
      writeFileSync(join(run.path, name), "");
    expect(createRunFolder(run.path)).toEqual(run);
  });

  test("is none that holds a run, or anything else", () => {
    writeFileSync(join(run.path, "config.yaml"), "");
    expect(() => createRunFolder(run.path)).toThrow(/there is a run in this folder already.*--resume/);
    rmSync(join(run.path, "config.yaml"));
    writeFileSync(join(run.path, "thesis.doc"), "");
    expect(() => createRunFolder(run.path)).toThrow("the run folder is not empty: got thesis.doc");
  });
});

describe("checkpoints", () => {
  test("are listed in the order they were made: the warm-up first", () => {
    save("rl", 10, 2, 0);
    save("sft", 20, 3);
    mkdirSync(join(run.checkpoints, ".1-rl-000011.tmp"));
    expect(names()).toEqual(["sft 3", "sft 20", "rl 0", "rl 2", "rl 10"]);
  });

  test.each([
    [1, undefined, ["rl 0", "rl 5"]],
    [2, undefined, ["rl 0", "rl 4", "rl 5"]],
    [2, 2, ["rl 0", "rl 2", "rl 4", "rl 5"]],
    [1, 5, ["rl 0", "rl 5"]],
    [2, 0, ["rl 0", "rl 4", "rl 5"]],
    [9, undefined, ["sft 3", "rl 0", "rl 1", "rl 2", "rl 3", "rl 4", "rl 5"]],
  ])("keep %i, best %s", (keep, best, kept) => {
    save("sft", 3);
    save("rl", 0, 1, 2, 3, 4, 5);
    pruneCheckpoints(run, keep, best === undefined ? [] : [best]);
    expect(names()).toEqual(kept);
    expect(readdirSync(run.checkpoints)).toHaveLength(kept.length);
  });
});

test("sweep removes what killed writes left and nothing else", () => {
  save("rl", 0);
  const evaluation = join(run.evals, "b-0-greedy");
  mkdirSync(evaluation);
  mkdirSync(join(run.checkpoints, ".1-rl-000001.tmp"));
  const left = [join(run.path, "metrics.jsonl.1.tmp"), join(evaluation, "result.json.1.tmp")];
  const kept = [join(run.path, "config.yaml"), join(evaluation, "records.jsonl")];
  for (const file of [...left, ...kept]) writeFileSync(file, "");
  sweep(run);
  expect([...left, ...kept].map((file) => existsSync(file))).toEqual([false, false, true, true]);
  expect(readdirSync(run.checkpoints)).toEqual(["rl-000000"]);
});

test("evaluations of steps to be made again are forgotten", () => {
  for (const name of ["b-0-greedy", "b-2-sampled", "b-10-greedy", "mine"]) mkdirSync(join(run.evals, name));
  forgetEvals(run, 2);
  expect(readdirSync(run.evals).sort()).toEqual(["b-0-greedy", "b-2-sampled", "mine"]);
});
