import { ToolError } from "../../core/errors.ts";
import type { Retriever } from "./retriever.ts";

/** A retriever whose searches end in time: a search that takes longer is a `ToolError`, never an empty result. */
export function withTimeout(inner: Retriever, timeoutMs: number): Retriever {
  return {
    version: inner.version,
    size: inner.size,
    async search(queries, k, signal) {
      signal?.throwIfAborted();
      const controller = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      let cancelled: (() => void) | undefined;
      const ended = new Promise<never>((_, reject) => {
        const stop = (reason: unknown) => {
          controller.abort(reason);
          reject(reason);
        };
        timer = setTimeout(() => stop(late(queries.length, timeoutMs)), timeoutMs);
        cancelled = () => stop(signal?.reason);
        signal?.addEventListener("abort", cancelled, { once: true });
      });
      try {
        return await Promise.race([inner.search(queries, k, controller.signal), ended]);
      } finally {
        clearTimeout(timer);
        if (cancelled) signal?.removeEventListener("abort", cancelled);
      }
    },
    close: () => inner.close(),
  };
}

const late = (queries: number, timeoutMs: number) =>
  new ToolError({
    what: "the search took too long",
    got: `no answer to ${queries === 1 ? "a query" : `${queries} queries`} in ${timeoutMs} ms`,
    next: "Raise `search.timeoutMs`, or find out why the engine is slow.",
  });
