import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeFolder, writeFileAtomic } from "./files.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("makeFolder makes what is missing, is content with what is there, and fails where a file is in the way", () => {
  const deep = join(folder, "a", "b", "c");
  makeFolder(deep);
  makeFolder(deep);
  expect(statSync(deep).isDirectory()).toBe(true);
  writeFileSync(join(folder, "file"), "");
  expect(() => makeFolder(join(folder, "file", "below"))).toThrow(/ENOTDIR/);
});

test.skipIf(!existsSync("/proc/self"))("makeFolder returns where a parent refuses (Linux's /proc)", () => {
  expect(() => makeFolder("/proc/forager/deep")).toThrow(/ENOENT|EACCES/);
});

test("writeFileAtomic makes the folders above", () => {
  const path = join(folder, "x", "y", "file.json");
  writeFileAtomic(path, "{}");
  expect(readFileSync(path, "utf8")).toBe("{}");
});
