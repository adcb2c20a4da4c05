import { readdirSync } from "node:fs";
import { expect } from "vitest";
import type { Project } from "./toy-project.ts";

/** What `forager train` says to a mistake: exit code 2, one error, no stack, and no run folder. */
export async function complaintOf(project: Project, overrides: readonly string[]): Promise<string> {
  const words = ["train", project.at("train.yaml"), ...overrides, "--quiet"];
  const { code, stdout, stderr } = await project.forager(...words);
  expect(stdout).toBe("");
  expect(stderr).not.toMatch(/\.ts:\d+|\.js:\d+|at async/);
  expect(code).toBe(2);
  expect(readdirSync(project.dir).filter((name) => /^run|tmp/.test(name))).toEqual([]);
  return stderr.trimEnd();
}
