import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { readPassages, readTasks } from "../datasets/jsonl.ts";
import { normalizers } from "../reward/normalize.ts";
import { writeStarter } from "./init.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-init-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const starter = join(packageRoot(), "configs", "starter");

test("writes every file of the starter into a new folder, and into an empty one", async () => {
  for (const [name, existing] of [
    ["new", false],
    ["empty", true],
  ] as const) {
    const path = join(folder, name);
    if (existing) mkdirSync(path);
    const files = await writeStarter(path);
    expect(files).toEqual(["README.md", "corpus.jsonl", "forager.yaml", "questions.jsonl"]);
    for (const file of files)
      expect(readFileSync(join(path, file), "utf8")).toBe(readFileSync(join(starter, file), "utf8"));
  }
});

test("refuses a folder with anything in it, and a file, and leaves them alone", async () => {
  const full = join(folder, "full");
  mkdirSync(full);
  writeFileSync(join(full, "thesis.txt"), "mine");
  await expect(writeStarter(full)).rejects.toThrow(/not empty.*thesis\.txt/);
  expect(readdirSync(full)).toEqual(["thesis.txt"]);
  await expect(writeStarter(join(full, "thesis.txt"))).rejects.toThrow(/a file stands where/);
});

test("a failure leaves nothing half-written", async () => {
  writeFileSync(join(folder, "file"), "");
  await expect(writeStarter(join(folder, "file", "below"))).rejects.toThrow();
  expect(existsSync(join(folder, "file", "below"))).toBe(false);
});

test("each question's supporting passages exist, hold its answer, and chain from hop to hop", async () => {
  const passages = new Map<string, { title: string; text: string }>();
  for await (const passage of readPassages(join(starter, "corpus.jsonl"))) passages.set(passage.id, passage);
  const { normalize } = normalizers.squad;
  const { tasks, dropped } = await readTasks({ path: join(starter, "questions.jsonl"), normalize });
  expect(tasks).toHaveLength(10);
  expect(dropped).toEqual([]);
  for (const { id, question, goldenAnswers, supportingIds = [], hops } of tasks) {
    expect(supportingIds, id).toHaveLength(hops);
    const pages = supportingIds.map((page) => passages.get(page)!);
    expect(question).toContain(pages[0]!.title);
    for (const [i, page] of pages.slice(1).entries()) expect(pages[i]!.text).toContain(page.title);
    expect(pages.at(-1)!.text).toContain(goldenAnswers[0]);
  }
});
