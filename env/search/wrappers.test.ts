import { describe, expect, it } from "vitest";
import { ToolError } from "../../core/errors.ts";
import { faultyRetriever } from "./faults.ts";
import { memoryRetriever } from "./memory.ts";
import { oracleRetrievers } from "./oracle.ts";
import type { Retriever } from "./retriever.ts";
import { withTimeout } from "./timeout.ts";
import { toyCorpus } from "./toy-corpus.ts";

const corpus = toyCorpus(100);
const { passages } = corpus;
const queries = [...new Set(corpus.queries)];
const memory = memoryRetriever(passages);
const ids = (hits: readonly { id: string }[] | undefined) => hits?.map(({ id }) => id);

/** Answers only when its signal is aborted. */
const hanging: Retriever = faultyRetriever(memory, { rate: 1, seed: 1, kind: "hang" });

describe("withTimeout", () => {
  it("passes on what comes in time", async () => {
    const timed = withTimeout(memory, 10_000);
    expect(await timed.search(queries, 2)).toEqual(await memory.search(queries, 2));
    expect([timed.version, timed.size]).toEqual([memory.version, memory.size]);
  });

  it("is a ToolError for what does not, and stops the engine", async () => {
    let stopped: unknown;
    const slow: Retriever = {
      ...memory,
      search: (_queries, _k, signal) =>
        new Promise(() => signal?.addEventListener("abort", () => (stopped = signal.reason))),
    };
    await expect(withTimeout(slow, 5).search(["a", "b"], 1)).rejects.toThrow(
      "the search took too long: got no answer to 2 queries in 5 ms.",
    );
    expect(stopped).toBeInstanceOf(ToolError);
  });

  it("ends at once when the caller aborts", async () => {
    const controller = new AbortController();
    const search = withTimeout(hanging, 60_000).search(["a"], 1, controller.signal);
    controller.abort(new Error("enough"));
    await expect(search).rejects.toThrow("enough");
  });
});

describe("faultyRetriever", () => {
  const outcome = async (retriever: Retriever, query: string) =>
    retriever.search([query], 1).then(
      () => "ok",
      (error) => (error instanceof ToolError ? "fault" : "other"),
    );

  it("fails at the given rate, the same whatever the order", async () => {
    const first = faultyRetriever(memory, { rate: 0.25, seed: 3 });
    const results = new Map<string, string>();
    for (const query of queries) results.set(query, await outcome(first, query));
    const second = faultyRetriever(memory, { rate: 0.25, seed: 3 });
    for (const query of queries.toReversed()) expect(await outcome(second, query)).toBe(results.get(query));
    expect(first.faults / queries.length).toBeGreaterThan(0.15);
    expect(first.faults / queries.length).toBeLessThan(0.35);
    expect(second.faults).toBe(first.faults);
  });

  it("lets a retry succeed, and never returns an empty list for a fault", async () => {
    const faulty = faultyRetriever(memory, { rate: 0.5, seed: 1 });
    const tries = await Promise.all(Array.from({ length: 20 }, () => outcome(faulty, "star")));
    expect(new Set(tries)).toEqual(new Set(["ok", "fault"]));
    const never = faultyRetriever(memory, { rate: 0, seed: 1 });
    expect(await never.search(queries, 2)).toEqual(await memory.search(queries, 2));
  });
});

describe("oracleRetrievers", () => {
  const gold = passages.slice(10, 13);
  const oracle = oracleRetrievers(new Map([["q1", gold]]), memory);

  it("gives the gold passages first, whatever is asked, then what else is found", async () => {
    const [first, second] = await oracle("q1").search(["star", "zzz"], 5);
    expect(ids(first)?.slice(0, 3)).toEqual(ids(gold));
    expect(new Set(ids(first)).size).toBe(5);
    expect(ids(second)).toEqual(ids(gold));
    const scores = first?.map(({ score }) => score) ?? [];
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(ids((await oracle("q1").search(["zzz"], 2))[0])).toEqual(ids(gold.slice(0, 2)));
  });

  it("works alone, and refuses an unknown question", async () => {
    const alone = oracleRetrievers(new Map([["q1", gold]]))("q1");
    expect(ids((await alone.search(["x"], 9))[0])).toEqual(ids(gold));
    expect(() => oracle("q2")).toThrow(ToolError);
  });
});
