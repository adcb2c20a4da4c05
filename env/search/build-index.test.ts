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
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DataError } from "../../core/errors.ts";
import { type BuildProgress, buildIndex } from "./build-index.ts";
import { openIndex } from "./lance.ts";
import { manifestName, readManifest } from "./manifest.ts";

let folder: string;
let corpus: string;
let out: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-build-"));
  corpus = join(folder, "corpus.jsonl");
  out = join(folder, "index");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const three = [
  '{"id":"a","title":"Fox","text":"red"}',
  '{"id":"b","title":"Dog","text":"red blue"}',
  '{"id":"c","title":"","text":"x"}',
];

/** What is beside the corpus afterwards: nothing half-written. */
const left = () => readdirSync(folder).filter((name) => !name.startsWith("corpus"));

async function titles(query: string): Promise<string[]> {
  const retriever = await openIndex(out);
  const [hits] = await retriever.search([query], 5);
  await retriever.close();
  return hits?.map(({ title }) => title) ?? [];
}

describe("buildIndex", () => {
  it("indexes a plain and a compressed corpus alike", async () => {
    writeFileSync(corpus, three.join("\n"));
    const plain = await buildIndex({ corpus, out });
    expect(await titles("RED")).toEqual(["Fox", "Dog"]);
    expect(await titles("dog")).toEqual(["Dog"]);
    writeFileSync(`${corpus}.gz`, gzipSync(`${three.join("\r\n")}\n\n`));
    const compressed = await buildIndex({ corpus: `${corpus}.gz`, out: `${out}-gz` });
    expect(compressed).toMatchObject({ passages: 3, terms: 6, fingerprint: plain.fingerprint });
    expect(readManifest(out)).toEqual(plain);
  });

  it("reads Search-R1's form as ours", async () => {
    writeFileSync(corpus, three.join("\n"));
    const ours = await buildIndex({ corpus, out: `${out}-ours` });
    const theirs = [
      '{"id":"a","contents":"\\"Fox\\"\\nred"}',
      '{"id":"b","contents":"Dog\\nred blue"}',
      '{"id":"c","contents":"x"}',
    ];
    writeFileSync(corpus, theirs.join("\n"));
    expect((await buildIndex({ corpus, out })).fingerprint).toBe(ours.fingerprint);
    expect(await titles("fox")).toEqual(["Fox"]);
  });

  it("stores odd texts as they are", async () => {
    const odd = [
      { id: "nul", title: "a\u0000b", text: "zero\u0000byte" },
      { id: "long", title: "", text: `needle ${"hay ".repeat(500_000)}` },
      { id: "lines", title: "two\nlines", text: "\u2028 sep \t tab" },
      { id: "emoji 😀 '\"", title: "😀", text: "東京タワー" },
    ];
    writeFileSync(corpus, odd.map((passage) => JSON.stringify(passage)).join("\n"));
    await buildIndex({ corpus, out, batch: 1 });
    const retriever = await openIndex(out);
    const queries = ["zero", "needle", "sep", "東"];
    const found = (await retriever.search(queries, 5)).map((hits) =>
      hits.map(({ score, ...passage }) => passage),
    );
    expect(found).toEqual(odd.map((passage) => [passage]));
    await retriever.close();
  });

  it("reports passages read and an end to come to", async () => {
    writeFileSync(corpus, Array.from({ length: 3000 }, (_, i) => `{"id":"${i}","text":"word"}`).join("\n"));
    const seen: BuildProgress[] = [];
    await buildIndex({ corpus, out, onProgress: (progress) => seen.push(progress) });
    expect(seen).toEqual([
      { phase: "reading", passages: 1024, total: 3000 },
      { phase: "reading", passages: 2048, total: 3000 },
      { phase: "indexing", passages: 3000, total: 3000 },
    ]);
  });

  const line2 = (text: string) => [three[0], text, three[2]].join("\n");
  it.each([
    ["malformed JSON", line2('{"id":"b", oops'), ":2: malformed JSON"],
    ["a raw NUL byte", line2('{"id":"b","title":"","text":"a\0b"}'), ":2: malformed JSON"],
    ["a list", line2("[1]"), ":2: "],
    ["a number for a title", line2('{"id":"b","title":3,"text":"x"}'), ":2: field `title`"],
    ["no id", line2('{"title":"b","text":"x"}'), ":2: field `id` is missing"],
    ["no text", line2('{"id":"b","title":"x"}'), ":2: a passage without text"],
    ["two lines with one id", line2('{"id":"a","title":"x","text":"y"}'), ":2: duplicate id"],
    ["nothing", "", "the corpus is empty"],
    ["blank lines", "\n \n", "the corpus is empty"],
  ])("refuses a corpus with %s and leaves nothing", async (_, content, message) => {
    writeFileSync(corpus, content);
    const failure = buildIndex({ corpus, out });
    await expect(failure).rejects.toThrow(DataError);
    await expect(failure).rejects.toThrow(message);
    expect(left()).toEqual([]);
  });

  it("leaves nothing when the error comes after stored batches", async () => {
    writeFileSync(corpus, [...three, "{"].join("\n"));
    await expect(buildIndex({ corpus, out, batch: 1 })).rejects.toThrow(":4: malformed JSON");
    expect(left()).toEqual([]);
  });

  it("refuses a truncated and a false .gz, a folder, and a file that is not there", async () => {
    const whole = gzipSync(three.join("\n").repeat(1000));
    writeFileSync(`${corpus}.gz`, whole.subarray(0, whole.length - 20));
    await expect(buildIndex({ corpus: `${corpus}.gz`, out })).rejects.toThrow("cannot read the file");
    writeFileSync(`${corpus}.gz`, three.join("\n"));
    await expect(buildIndex({ corpus: `${corpus}.gz`, out })).rejects.toThrow("cannot read the file");
    await expect(buildIndex({ corpus: folder, out })).rejects.toThrow("the corpus is not a file");
    await expect(buildIndex({ corpus: `${corpus}.none`, out })).rejects.toThrow("corpus not found");
    expect(left()).toEqual([]);
  });

  it("replaces an index only with force, and keeps the old one when the new one fails", async () => {
    writeFileSync(corpus, three.join("\n"));
    await buildIndex({ corpus, out });
    await expect(buildIndex({ corpus, out })).rejects.toThrow("Give --force to replace it.");
    writeFileSync(corpus, "{");
    await expect(buildIndex({ corpus, out, force: true })).rejects.toThrow("malformed JSON");
    expect(await titles("fox")).toEqual(["Fox"]);
    writeFileSync(corpus, three[1] as string);
    await buildIndex({ corpus, out, force: true });
    expect(await titles("fox dog")).toEqual(["Dog"]);
    expect(left()).toEqual(["index"]);
  });

  it("never replaces a folder that is no index, but fills an empty one", async () => {
    writeFileSync(corpus, three.join("\n"));
    mkdirSync(out);
    await buildIndex({ corpus, out });
    const precious = join(folder, "precious");
    mkdirSync(precious);
    writeFileSync(join(precious, "thesis.txt"), "x");
    await expect(buildIndex({ corpus, out: precious, force: true })).rejects.toThrow(
      "the folder is not empty and is no search index: got thesis.txt.",
    );
    expect(readdirSync(precious)).toEqual(["thesis.txt"]);
  });

  it("says so when the folder cannot be written", async () => {
    writeFileSync(corpus, three.join("\n"));
    const below = join(corpus, "index"); // a folder below a file: not even root can make it
    await expect(buildIndex({ corpus, out: below })).rejects.toThrow(DataError);
    await expect(buildIndex({ corpus, out: below })).rejects.toThrow(
      /cannot write the search index.*ENOTDIR/,
    );
    await expect(buildIndex({ corpus, out: corpus })).rejects.toThrow("is a file or cannot be read");
    expect(readFileSync(corpus, "utf8")).toBe(three.join("\n"));
  });

  it("stops at an aborted signal and leaves nothing", async () => {
    writeFileSync(corpus, Array.from({ length: 5000 }, (_, i) => `{"id":"${i}","text":"word"}`).join("\n"));
    const controller = new AbortController();
    const stopped = new Error("stopped by the user");
    const onProgress = () => controller.abort(stopped);
    const building = buildIndex({ corpus, out, batch: 500, onProgress, signal: controller.signal });
    await expect(building).rejects.toBe(stopped);
    expect(left()).toEqual([]);
  });
});

describe("openIndex of something else", () => {
  it("says what is wrong with the folder", async () => {
    await expect(openIndex(out)).rejects.toThrow("no search index there");
    await expect(openIndex(folder)).rejects.toThrow(`it has no ${manifestName}`);
    writeFileSync(corpus, three.join("\n"));
    const manifest = await buildIndex({ corpus, out });
    const path = join(out, manifestName);
    writeFileSync(path, "{");
    await expect(openIndex(out)).rejects.toThrow("cannot read the index's manifest");
    writeFileSync(path, JSON.stringify({ ...manifest, format: 99 }));
    await expect(openIndex(out)).rejects.toThrow("cannot be used by this version");
    writeFileSync(path, JSON.stringify({ ...manifest, passages: 4 }));
    await expect(openIndex(out)).rejects.toThrow("damaged: got 3 passages of 4");
    writeFileSync(path, JSON.stringify(manifest));
    rmSync(join(out, "passages.lance"), { recursive: true });
    await expect(openIndex(out)).rejects.toThrow("the search index is damaged");
    expect(existsSync(path)).toBe(true);
  });
});
