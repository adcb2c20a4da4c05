import { describe, expect, it } from "vitest";
import { InvariantError, ToolError } from "../../core/errors.ts";
import { cachedRetriever } from "./cache.ts";
import type { Hit, Retriever } from "./retriever.ts";

/** Answers each query with a passage of its name, when told to; keeps every call. */
function manual(version = "v1") {
  const calls: {
    queries: readonly string[];
    k: number;
    answer: () => void;
    fail: (e: Error) => void;
    signal: AbortSignal;
  }[] = [];
  const inner: Retriever = {
    version,
    size: 1,
    search: (queries, k, signal) =>
      new Promise<Hit[][]>((resolve, reject) => {
        const hits = queries.map((query) => [{ id: query, title: "", text: `k${k}`, score: 1 }]);
        signal?.addEventListener("abort", () => reject(signal.reason));
        calls.push({ queries, k, answer: () => resolve(hits), fail: reject, signal: signal as AbortSignal });
      }),
    close: async () => {},
  };
  return { inner, calls };
}

/** The same, answering at once. */
function instant() {
  const { inner, calls } = manual();
  const search: Retriever["search"] = (queries, k, signal) => {
    const found = inner.search(queries, k, signal);
    calls.at(-1)?.answer();
    return found;
  };
  return { inner: { ...inner, search }, calls };
}

const ids = (hits: Hit[][]) => hits.map((list) => list.map(({ id }) => id).join());

describe("cachedRetriever", () => {
  it("asks the engine once for each query and k", async () => {
    const { inner, calls } = instant();
    const cached = cachedRetriever(inner, 10);
    expect(ids(await cached.search(["a", "b", "a"], 2))).toEqual(["a", "b", "a"]);
    expect(ids(await cached.search(["b", "c"], 2))).toEqual(["b", "c"]);
    expect((await cached.search(["a"], 3))[0]?.[0]?.text).toBe("k3");
    expect(calls.map(({ queries, k }) => [...queries, k])).toEqual([
      ["a", "b", 2],
      ["c", 2],
      ["a", 3],
    ]);
    expect(cached.counts).toEqual({ hits: 1, shared: 1, misses: 4 });
  });

  it("forgets the answer that was not used for longest", async () => {
    const { inner, calls } = instant();
    const cached = cachedRetriever(inner, 2);
    for (const query of ["a", "b", "a", "c", "a", "b"]) await cached.search([query], 1);
    expect(calls.flatMap(({ queries }) => queries)).toEqual(["a", "b", "c", "b"]);
  });

  it("keeps nothing with 0 entries, and answers rightly", async () => {
    const { inner, calls } = instant();
    const cached = cachedRetriever(inner, 0);
    expect(ids(await cached.search(["a", "a"], 1))).toEqual(["a", "a"]);
    expect(ids(await cached.search(["a"], 1))).toEqual(["a"]);
    expect(calls).toHaveLength(2);
  });

  it("shares a request that is under way, also in part", async () => {
    const { inner, calls } = manual();
    const cached = cachedRetriever(inner, 10);
    const first = cached.search(["a", "b"], 1);
    const second = cached.search(["b", "c"], 1);
    expect(calls.map(({ queries }) => queries)).toEqual([["a", "b"], ["c"]]);
    for (const call of calls) call.answer();
    expect(ids(await second)).toEqual(["b", "c"]);
    expect(ids(await first)).toEqual(["a", "b"]);
    expect(cached.counts).toEqual({ hits: 0, shared: 1, misses: 3 });
  });

  it("gives a failure to everyone who waits and never remembers it", async () => {
    const { inner, calls } = manual();
    const cached = cachedRetriever(inner, 10);
    const waiting = [cached.search(["a"], 1), cached.search(["a"], 1)];
    calls[0]?.fail(new ToolError({ what: "engine down" }));
    for (const one of waiting) await expect(one).rejects.toThrow("engine down");
    const again = cached.search(["a"], 1);
    calls[1]?.answer();
    expect(ids(await again)).toEqual(["a"]);
  });

  it("cancels a request only when nobody waits for it any more", async () => {
    const { inner, calls } = manual();
    const cached = cachedRetriever(inner, 10);
    const [left, stays] = [new AbortController(), new AbortController()];
    const first = cached.search(["a"], 1, left.signal);
    const second = cached.search(["a"], 1, stays.signal);
    left.abort(new Error("left"));
    await expect(first).rejects.toThrow("left");
    expect(calls[0]?.signal.aborted).toBe(false);
    stays.abort(new Error("left too"));
    await expect(second).rejects.toThrow("left too");
    expect(calls[0]?.signal.aborted).toBe(true);
    const third = cached.search(["a"], 1); // joins no request that is being cancelled
    calls[1]?.answer();
    expect(ids(await third)).toEqual(["a"]);
  });

  it("hands out lists of its own", async () => {
    const cached = cachedRetriever(instant().inner, 10);
    (await cached.search(["a"], 1))[0]?.pop();
    expect(ids(await cached.search(["a"], 1))).toEqual(["a"]);
  });

  it("reports an engine that loses queries", async () => {
    const { inner } = instant();
    const cached = cachedRetriever({ ...inner, search: async () => [] }, 10);
    await expect(cached.search(["a"], 1)).rejects.toThrow("the search engine lost a query");
  });

  it("checks k and refuses to search once closed", async () => {
    const cached = cachedRetriever(instant().inner, 10);
    await expect(cached.search(["a"], 0)).rejects.toThrow(InvariantError);
    await cached.close();
    await expect(cached.search(["a"], 1)).rejects.toThrow(ToolError);
  });
});
