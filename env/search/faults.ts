import { ToolError } from "../../core/errors.ts";
import { rng } from "../../core/rng.ts";
import type { Retriever } from "./retriever.ts";

export interface Faults {
  /** Share of searches that fail, 0 to 1. */
  readonly rate: number;
  readonly seed: number;
  /** "error" throws a ToolError at once; "hang" answers only when the signal is aborted. */
  readonly kind?: "error" | "hang";
}

/**
 * A retriever that fails now and then, for tests of what a failure does to a run. Whether the n-th search of a
 * query fails depends on (seed, query, n) alone, so it is the same whatever the order of searches.
 */
export function faultyRetriever(
  inner: Retriever,
  { rate, seed, kind = "error" }: Faults,
): Retriever & { readonly faults: number } {
  const asked = new Map<string, number>();
  let faults = 0;
  return {
    version: inner.version,
    size: inner.size,
    get faults() {
      return faults;
    },
    async search(queries, k, signal) {
      const failing = queries.filter((query) => {
        const attempt = asked.get(query) ?? 0;
        asked.set(query, attempt + 1);
        return rng(seed, "retriever-fault", query, attempt)() < rate;
      });
      if (failing.length === 0) return inner.search(queries, k, signal);
      faults++;
      if (kind === "hang") await aborted(signal);
      throw new ToolError({ what: "injected search failure", got: `query "${failing[0]}"` });
    },
    close: () => inner.close(),
  };
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal?.reason);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
