import type { Passage } from "../../datasets/task.ts";

export interface Hit extends Passage {
  readonly score: number;
}

/** Batched retrieval. A failure throws `ToolError`; it is never an empty list. */
export interface Retriever {
  /** Names the content: changes when corpus or settings change. Part of every cache key. */
  readonly version: string;
  /** Number of passages. */
  readonly size: number;
  /** hits[i] answers queries[i]: at most k, best first, ties broken by id. */
  search(queries: readonly string[], k: number, signal?: AbortSignal): Promise<Hit[][]>;
  close(): Promise<void>;
}
