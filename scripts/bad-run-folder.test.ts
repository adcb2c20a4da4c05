import { existsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
beforeEach(() => {
  project = toyProject();
});
afterEach(() => project.remove());

describe("the run folder", () => {
  const folder = async (path: string) => {
    const { code, stderr } = await project.forager(
      "train",
      project.at("train.yaml"),
      `run.dir=${path}`,
      "--quiet",
    );
    expect(code).toBe(2);
    return stderr.trimEnd();
  };
  test("not empty", async () => {
    expect(await folder(project.dir)).toMatchInlineSnapshot(`
      "error: the run folder is not empty
        where    DIR
        got      corpus.jsonl, questions.jsonl, train.yaml
        next     Name another with run.dir=…."
    `);
  });
  test("under a file", async () => {
    expect(await folder(project.at("train.yaml/run"))).toMatchInlineSnapshot(`
      "error: the run folder cannot be made
        where    DIR/train.yaml/run
        got      DIR/train.yaml is a file, not a folder
        next     Name another with run.dir=…."
    `);
  });
  test("a file", async () => {
    expect(await folder(project.at("train.yaml"))).toMatchInlineSnapshot(`
      "error: the run folder cannot be made
        where    DIR/train.yaml
        got      DIR/train.yaml is a file, not a folder
        next     Name another with run.dir=…."
    `);
  });
  test("what cannot be written", async () => {
    // Root may write anywhere but to the kernel's own file systems.
    expect(await folder("/proc/forager")).toMatch(/^error: .*\n {2}where {4}\/proc\/forager\n/);
    expect(existsSync("/proc/forager")).toBe(false);
  });
});
