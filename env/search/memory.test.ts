import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError, InvariantError, ToolError } from "../../core/errors.ts";
import { resolution } from "./bm25.ts";
import { bruteForce } from "./brute-force.ts";
import { memoryRetriever } from "./memory.ts";
import { toyCorpus } from "./toy-corpus.ts";

const page = (id: string, text: string, title = "") => ({ id, title, text });
const ids = (hits: readonly { id: string }[] | undefined) => hits?.map(({ id }) => id);

describe("memoryRetriever", () => {
  it("scores as the formula says", async () => {
    const retriever = memoryRetriever([page("a", "red fox"), page("b", "red red dog"), page("c", "cat")]);
    const [hits] = await retriever.search(["red"], 3);
    // N 3, df 2: idf ln(1 + 1.5/2.5) = 0.470004; mean length 2.
    expect(ids(hits)).toEqual(["b", "a"]);
    expect(hits?.[0]?.score).toBeCloseTo((0.4700036 * 2 * 2.2) / (2 + 1.2 * (0.25 + (0.75 * 3) / 2)), 5);
    expect(hits?.[1]?.score).toBeCloseTo((0.4700036 * 2.2) / (1 + 1.2), 5);
  });

  it("equals brute force, scores and ties, on any small corpus", async () => {
    const word = fc.constantFrom("a", "b", "c", "d", "e", "f");
    const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(" "));
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 40 }),
        text,
        fc.integer({ min: 1, max: 6 }),
        async (texts, query, k) => {
          const passages = texts.map((words, i) => page(`${(i * 7) % texts.length}-${i}`, words));
          const [hits] = await memoryRetriever(passages).search([query], k);
          expect(hits).toEqual(bruteForce(passages, resolution)(query, k));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("equals brute force where frequent words are skipped", async () => {
    const { passages, queries } = toyCorpus(1200);
    const expected = bruteForce(passages, resolution);
    const retriever = memoryRetriever(passages);
    const long = queries.slice(0, 10).map((query, i) => `${query} ${queries[i + 20]} of the star`);
    for (const k of [1, 2, 3, 10])
      for (const query of [...queries.slice(0, 25), ...long]) {
        const [hits] = await retriever.search([query], k);
        expect(hits, query).toEqual(expected(query, k));
      }
  });

  it("skips a frequent word only when it cannot win: here short pages beat the long page of the rare word", async () => {
    const passages = Array.from({ length: 200 }, (_, i) =>
      page(`p${i}`, i % 3 === 0 ? "common" : `w${i} x y z`),
    );
    passages.push(page("long", `rare ${"filler ".repeat(2000)}`));
    for (const k of [1, 3]) {
      const [hits] = await memoryRetriever(passages).search(["rare common"], k);
      expect(hits).toEqual(bruteForce(passages, resolution)("rare common", k));
      expect(ids(hits)).not.toContain("long");
    }
  });

  it("breaks ties by id, whatever the order of the corpus", async () => {
    const passages = ["b", "a", "10", "9", "B"].map((id) => page(id, "same words"));
    const [hits] = await memoryRetriever(passages).search(["same"], 4);
    expect(ids(hits)).toEqual(["10", "9", "B", "a"]);
    const reversed = memoryRetriever(passages.toReversed());
    expect(await reversed.search(["same"], 4)).toEqual([hits]);
    expect(reversed.version).toBe(memoryRetriever(passages).version);
  });

  it("answers every query of a batch, and finds nothing for no words or unknown words", async () => {
    const retriever = memoryRetriever([page("a", "red fox", "Fox")]);
    const [first, none, unknown] = await retriever.search(["FOX?", " ?! ", "constructor __proto__"], 5);
    expect(first).toEqual([{ ...page("a", "red fox", "Fox"), score: expect.any(Number) }]);
    expect([none, unknown]).toEqual([[], []]);
    expect(await retriever.search([], 5)).toEqual([]);
  });

  it("finds words that are names of object properties", async () => {
    const retriever = memoryRetriever([
      page("a", "the constructor __proto__ hasOwnProperty"),
      page("b", "x"),
    ]);
    for (const word of ["constructor", "__proto__", "hasOwnProperty"])
      expect(ids((await retriever.search([word], 5))[0]), word).toEqual(["a"]);
  });

  it("holds passages without any word", async () => {
    const retriever = memoryRetriever([page("a", "…"), page("b", "?")]);
    expect(await retriever.search(["anything"], 2)).toEqual([[]]);
  });

  it("changes its version with the content", () => {
    const versions = [page("a", "x"), page("a", "y"), page("b", "x"), page("a", "", "x")].map(
      (passage) => memoryRetriever([passage]).version,
    );
    expect(new Set(versions).size).toBe(4);
  });

  it("refuses an empty corpus and two passages with one id", () => {
    expect(() => memoryRetriever([])).toThrow(DataError);
    expect(() => memoryRetriever([page("a", "x"), page("b", "y"), page("a", "z")])).toThrow(
      'duplicate id in the corpus: expected different ids, got "a".',
    );
  });

  it("refuses a wrong k, a closed index and an aborted signal", async () => {
    const retriever = memoryRetriever([page("a", "x")]);
    for (const k of [0, -1, 1.5, Number.NaN])
      await expect(retriever.search(["x"], k)).rejects.toThrow(InvariantError);
    await expect(retriever.search(["x"], 1, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
    await retriever.close();
    await expect(retriever.search(["x"], 1)).rejects.toThrow(ToolError);
  });
});
