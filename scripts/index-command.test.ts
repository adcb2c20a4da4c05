import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "./cli.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-index-"));
const corpus = join(folder, "corpus.jsonl");
const index = join(folder, "index");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function forager(...words: string[]) {
  const written = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof written) =>
    new Writable({
      write(chunk, _encoding, done) {
        written[name] += String(chunk);
        done();
      },
    }) as unknown as NodeJS.WriteStream; // not a TTY: progress is plain lines
  const code = await runCli(words, {}, { stdout: stream("stdout"), stderr: stream("stderr") });
  return { code, ...written };
}

const events = (stdout: string) =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

beforeAll(async () => {
  writeFileSync(
    corpus,
    [
      { id: "a", title: "Modern Husbands", text: `a comedy film\n directed by ${"x".repeat(300)}` },
      { id: "b", title: "", text: "a film without a title" },
    ]
      .map((passage) => JSON.stringify(passage))
      .join("\n"),
  );
  const { code, stdout, stderr } = await forager("index", "build", corpus, "--out", index);
  expect({ code, stderr: stderr.replace(/in [\d.]+s/, "in 0s") }).toEqual({
    code: 0,
    stderr: "indexing 2/2 · in 0s · building the index\n",
  });
  expect(stdout).toMatch(/^2 passages in [\d.]+ s, [\d.]+ MB: .*index\nTry it: forager index search/);
});

describe("forager index", () => {
  it("search shows hits for people", async () => {
    const { code, stdout } = await forager("index", "search", index, "Modern", "film?");
    expect(code).toBe(0);
    const [first, text, second, , last] = stdout.split("\n");
    expect(first).toMatch(/^1\. Modern Husbands {2}\[a\] {2}\d\.\d{3}$/);
    expect(text).toMatch(/^ {3}a comedy film directed by x+\.\.\.$/);
    expect(second).toMatch(/^2\. \(no title\) {2}\[b\]/);
    expect(last).toMatch(/^2 of 2 passages in [\d.]+ ms$/);
    expect((await forager("index", "search", index, "zebra")).stdout).toContain("No passage holds any");
    expect((await forager("index", "search", index, "?!")).stdout).toContain("the query holds no word");
  });

  it("search and stats speak JSON Lines", async () => {
    const search = events((await forager("index", "search", index, "film", "--k", "1", "--json")).stdout);
    expect(search).toEqual([
      {
        event: "hit",
        rank: 1,
        id: "b",
        title: "",
        text: "a film without a title",
        score: expect.any(Number),
      },
      { event: "result", index, query: "film", k: 1, hits: 1, milliseconds: expect.any(Number) },
    ]);
    const stats = events((await forager("index", "stats", index, "--json")).stdout);
    expect(stats).toHaveLength(1);
    expect(stats[0]).toMatchObject({ event: "result", passages: 2, bm25: { k1: 1.2, b: 0.75 } });
  });

  it("stats tells people what is in the index", async () => {
    const { stdout } = await forager("index", "stats", index);
    expect(stdout).toMatch(/passages +2\nterms +13 \(6\.5 a passage\)\non disk/);
  });

  it("mistakes end with code 2, one error and nothing written", async () => {
    const mistakes: [string[], string][] = [
      [["index", "build", corpus, "--out", index], "there is an index already"],
      [["index", "build", `${corpus}.none`, "--out", `${index}2`], "corpus not found"],
      [["index", "build", corpus, "--out", join(corpus, "below")], "cannot write the search index"],
      [["index", "search", folder, "x"], "the folder is no search index"],
      [["index", "search", index, "x", "--k", "0"], "--k is wrong"],
      [["index", "search", index, "x", "--k", "many"], "`k` has no usable value"],
      [["index", "stats", `${index}2`], "no search index there"],
    ];
    for (const [words, message] of mistakes) {
      const { code, stdout, stderr } = await forager(...words);
      expect({ words, code, stdout }).toEqual({ words, code: 2, stdout: "" });
      expect(stderr).toContain(message);
      expect(stderr).not.toContain("    at ");
    }
  });

  it("build --force replaces an index", async () => {
    expect((await forager("index", "build", corpus, "--out", index, "--force", "--json")).code).toBe(0);
  });
});
