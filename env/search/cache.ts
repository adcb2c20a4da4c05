import { ToolError } from "../../core/errors.ts";
import { zip } from "../../core/zip.ts";
import { checkRequest } from "./request.ts";
import type { Hit, Retriever } from "./retriever.ts";

export interface CacheCounts {
  /** Queries answered from the cache. */
  hits: number;
  /** Queries that joined one already under way. */
  shared: number;
  /** Queries sent to the engine. */
  misses: number;
}

export interface CachedRetriever extends Retriever {
  /** Since it was opened. hits + shared + misses is the number of queries asked. */
  readonly counts: Readonly<CacheCounts>;
}

/** One request to the engine and who waits for it. */
interface Flight {
  readonly answer: Promise<Hit[][]>;
  readonly cancel: AbortController;
  readonly keys: readonly string[];
  waiting: number;
}

/** Where a query's answer will be found. */
interface Place {
  readonly flight: Flight;
  readonly index: number;
}

/**
 * Remembers the last `entries` answers by (version, query, k). Equal queries at the same time share one request,
 * which is cancelled only when nobody waits for it any more. Failures are never remembered.
 * @param entries 0 keeps nothing and still shares requests
 */
export function cachedRetriever(inner: Retriever, entries: number): CachedRetriever {
  const answers = new Map<string, readonly Hit[]>(); // least recently used first
  const flights = new Map<string, Place>();
  const counts: CacheCounts = { hits: 0, shared: 0, misses: 0 };
  let closed = false;

  function remember(key: string, hits: readonly Hit[]): void {
    answers.delete(key);
    answers.set(key, hits);
    if (answers.size > entries) answers.delete(answers.keys().next().value as string);
  }

  function launch(queries: readonly string[], keys: readonly string[], k: number): void {
    const cancel = new AbortController();
    const flight: Flight = { answer: ask(queries, k, cancel.signal), cancel, keys, waiting: 0 };
    for (const [index, key] of keys.entries()) flights.set(key, { flight, index });
    flight.answer
      .then((hits) => {
        for (const [key, found] of zip(keys, hits)) remember(key, found);
      })
      .catch(() => {}) // each waiter gets the failure itself
      .finally(() => land(flight));
  }

  async function ask(queries: readonly string[], k: number, signal: AbortSignal): Promise<Hit[][]> {
    const hits = await inner.search(queries, k, signal);
    if (hits.length === queries.length) return hits;
    throw new ToolError({
      what: "the search engine lost a query",
      got: `${hits.length} answers`,
      expected: `${queries.length}`,
    });
  }

  function land(flight: Flight): void {
    for (const key of flight.keys) if (flights.get(key)?.flight === flight) flights.delete(key);
  }

  async function wait(flight: Flight, signal: AbortSignal | undefined): Promise<Hit[][]> {
    flight.waiting++;
    try {
      return await (signal === undefined ? flight.answer : unlessAborted(flight.answer, signal));
    } finally {
      if (--flight.waiting === 0 && signal?.aborted) {
        land(flight); // nobody new may join a request that is being cancelled
        flight.cancel.abort(signal.reason);
      }
    }
  }

  return {
    version: inner.version,
    size: inner.size,
    counts,
    async search(queries, k, signal) {
      checkRequest(k, closed, signal);
      const keys = queries.map((query) => JSON.stringify([inner.version, k, query]));
      const known = new Map<string, readonly Hit[]>();
      const missing = new Map<string, string>();
      queries.forEach((query, i) => {
        const key = keys[i] as string;
        const hits = answers.get(key);
        if (hits !== undefined) {
          counts.hits++;
          known.set(key, hits);
          remember(key, hits);
        } else if (flights.has(key) || missing.has(key)) counts.shared++;
        else {
          counts.misses++;
          missing.set(key, query);
        }
      });
      if (missing.size > 0) launch([...missing.values()], [...missing.keys()], k);
      return Promise.all(
        keys.map(async (key) => {
          const place = flights.get(key) as Place; // there is one for every query not known
          return [...(known.get(key) ?? ((await wait(place.flight, signal))[place.index] as Hit[]))];
        }),
      );
    },
    async close() {
      closed = true;
      answers.clear();
      await inner.close();
    },
  };
}

/** The work's own end, or the signal's reason as soon as it is aborted. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancelled = () => reject(signal.reason);
    signal.addEventListener("abort", cancelled, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", cancelled));
    if (signal.aborted) cancelled();
  });
}
