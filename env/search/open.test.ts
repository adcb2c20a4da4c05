import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError, DataError } from "../../core/errors.ts";
import { searchConfig } from "./config.ts";
import { openRetriever } from "./open.ts";
import { toyCorpus } from "./toy-corpus.ts";

const { passages, queries } = toyCorpus(60);
let folder: string;
let corpus: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-open-"));
  corpus = join(folder, "corpus.jsonl");
  writeFileSync(corpus, passages.map((passage) => JSON.stringify(passage)).join("\n"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (config: object, resources = {}) => openRetriever(searchConfig.parse(config), resources);

describe("openRetriever", () => {
  it("gives the same passages from every engine", async () => {
    const index = join(folder, "index");
    const built: string[] = [];
    const engines = [
      await open({}, { passages }),
      await open({ corpus }),
      await open({ engine: "lancedb", index, corpus }, { onProgress: () => built.push("built") }),
      await open({ engine: "lancedb", index, corpus }, { onProgress: () => built.push("built again") }),
      await open({ engine: "lancedb", index }),
    ];
    expect(built).toEqual(["built"]);
    const found = await Promise.all(
      engines.map(async (engine) => {
        const hits = await engine.search(queries, 3);
        await engine.close();
        return hits.map((list) => list.map(({ id }) => id));
      }),
    );
    for (const other of found) expect(other).toEqual(found[0]);
    expect(engines.map(({ size }) => size)).toEqual(engines.map(() => passages.length));
    expect(engines[0]?.version).toBe(engines[1]?.version);
    expect(engines[0]?.counts).toMatchObject({ misses: new Set(queries).size, hits: 0 });
  });

  it("refuses an index of another corpus", async () => {
    const index = join(folder, "index");
    await (await open({ engine: "lancedb", index, corpus })).close();
    writeFileSync(corpus, JSON.stringify(passages[0]));
    const failure = open({ engine: "lancedb", index, corpus });
    await expect(failure).rejects.toThrow(DataError);
    await expect(failure).rejects.toThrow("the index was built from another corpus");
  });

  it("says what is missing", async () => {
    await expect(open({})).rejects.toThrow(ConfigError);
    await expect(open({})).rejects.toThrow("there is nothing to search");
    await expect(open({ corpus: `${corpus}.none` })).rejects.toThrow("file not found");
    await expect(open({ engine: "lancedb", index: join(folder, "none") })).rejects.toThrow(
      "no search index there",
    );
  });

  it("checks the section before anything is opened", () => {
    const problems = (config: object) =>
      searchConfig.safeParse(config).error?.issues.map(({ message }) => message);
    expect(problems({ engine: "lancedb" })).toEqual(["engine lancedb needs an index folder"]);
    expect(problems({ index: "x" })?.[0]).toContain("engine memory has no index folder");
    expect(problems({ engine: "elastic" })).toHaveLength(1);
    expect(problems({ cacheEntries: -1, timeoutMs: 0 })).toHaveLength(2);
    expect(problems({ engine: "lancedb", index: "x", maxDocumentShare: 0.5 })).toHaveLength(1);
    expect(searchConfig.parse({})).toEqual({
      engine: "memory",
      retriever: "engine",
      maxDocumentShare: 1,
      cacheEntries: 20_000,
      timeoutMs: 30_000,
    });
  });
});
