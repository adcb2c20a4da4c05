import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InvariantError, ToolError } from "../../core/errors.ts";
import { bruteForce } from "./brute-force.ts";
import { buildIndex } from "./build-index.ts";
import { openIndex } from "./lance.ts";
import { rank } from "./rank.ts";
import type { Retriever } from "./retriever.ts";
import { toyCorpus } from "./toy-corpus.ts";

const { passages, queries } = toyCorpus(1600);
let folder: string;
let retriever: Retriever;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "forager-lance-"));
  const corpus = join(folder, "corpus.jsonl");
  writeFileSync(corpus, passages.map((passage) => `${JSON.stringify(passage)}\n`).join(""));
  await buildIndex({ corpus, out: join(folder, "index"), batch: 128 }); // thirteen batches: stored, then compacted
  retriever = await openIndex(join(folder, "index"));
});

afterAll(async () => {
  await retriever.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("openIndex", () => {
  it("equals brute force, ties by id", async () => {
    const scored = bruteForce(passages);
    const words = ["star", "mayor", "star mayor", queries.slice(0, 5).join(" ")]; // a quarter of all pages tie
    const asked = [...queries.slice(0, 30), ...words];
    for (const k of [1, 5]) {
      const found = await retriever.search(asked, k);
      for (const [i, query] of asked.entries()) {
        const expected = rank(scored(query, passages.length), k, true) ?? [];
        expect(
          found[i]?.map(({ id }) => id),
          `${query}, k ${k}`,
        ).toEqual(expected.map(({ id }) => id));
        for (const [place, hit] of expected.entries())
          expect(found[i]?.[place]?.score).toBeCloseTo(hit.score, 4);
      }
    }
  });

  it("gives the same hits every time and from another opening", async () => {
    const asked = queries.slice(0, 80);
    const first = await retriever.search(asked, 3);
    expect(await retriever.search(asked.toReversed(), 3)).toEqual(first.toReversed());
    const again = await openIndex(join(folder, "index"));
    expect(await again.search(asked, 3)).toEqual(first);
    expect(again.version).toBe(retriever.version);
    expect(again.size).toBe(passages.length);
    await again.close();
  });

  it("returns whole passages, and no more than there are", async () => {
    const passage = passages[7];
    const [hits] = await retriever.search([passage?.title as string], 5000);
    expect(hits?.[0]).toEqual({ ...passage, score: expect.any(Number) });
    expect(hits?.length).toBeLessThan(20);
  });

  it("never takes a query for syntax", async () => {
    const hostile = [
      'star AND (title:"x" OR NOT',
      "\"unclosed 'quotes",
      "a~2 b^3 c* [x TO y] {} \\ / + - ! ?",
      "'; DROP TABLE passages; --",
      "\u0000\ud800\u202e",
      "x".repeat(100_000),
      "the ".repeat(20_000),
    ];
    for (const hits of await retriever.search(hostile, 3)) expect(hits.length).toBeLessThanOrEqual(3);
    expect(await retriever.search(["", " \n", "?!*()"], 3)).toEqual([[], [], []]);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (query) => {
        await expect(retriever.search([query], 2)).resolves.toHaveLength(1);
      }),
      { numRuns: 50 },
    );
  });

  it("refuses a wrong k, an aborted signal and a closed index", async () => {
    await expect(retriever.search(["star"], 0)).rejects.toThrow(InvariantError);
    await expect(retriever.search(["star"], 1, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
    const other = await openIndex(join(folder, "index"));
    await other.close();
    await other.close();
    await expect(other.search(["star"], 1)).rejects.toThrow(ToolError);
  });
});
