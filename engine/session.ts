import { availableParallelism } from "node:os";
import { env, InferenceSession } from "onnxruntime-node";
import type { BackendRow } from "./config.ts";

// Failures come back as errors; ONNX Runtime would print them as well.
env.logLevel = "fatal";

export interface SessionOptions {
  readonly row: BackendRow;
  /** 0 is every core. */
  readonly threads: number;
  readonly spin: boolean;
  /** Keep working memory between runs (ONNX Runtime's arena, one a session) instead of giving it back. */
  readonly keepMemory: boolean;
}

/** Opens an ONNX model from memory. */
export async function openSession(bytes: Uint8Array, options: SessionOptions): Promise<InferenceSession> {
  return InferenceSession.create(bytes, {
    executionProviders: [...options.row.providers],
    intraOpNumThreads: options.threads || availableParallelism(),
    interOpNumThreads: 1,
    executionMode: "sequential",
    enableCpuMemArena: options.keepMemory,
    graphOptimizationLevel: "all",
    logSeverityLevel: 4,
    extra: { session: { intra_op: { allow_spinning: options.spin ? "1" : "0" } } },
  });
}

/** One compiled program, its uses counted so that it is never released under a running call. */
export interface Lease<P> {
  readonly program: P;
  done(): void;
}

export interface CacheBounds<P> {
  readonly programs: number;
  /** Of all programs together, as `bytesOf` says. */
  readonly bytes: number;
  readonly bytesOf: (program: P) => number;
}

interface Entry<P> {
  readonly made: Promise<P>;
  /** 0 until made. */
  bytes: number;
  users: number;
  /** Taken out of the cache: release when the last user is done. */
  evicted: boolean;
}

/**
 * A bounded cache of programs: over the count the least recently used goes first, over the bytes the largest, so that a
 * training step of many megabytes does not push out fifty small decoding steps. Two calls for one key make it once.
 */
export class ProgramCache<P> {
  private readonly entries = new Map<string, Entry<P>>();
  private readonly bounds: CacheBounds<P>;
  private readonly release: (program: P) => Promise<void>;
  private readonly releases = new Set<Promise<void>>();

  constructor(bounds: CacheBounds<P>, release: (program: P) => Promise<void>) {
    this.bounds = bounds;
    this.release = release;
  }

  get size(): number {
    return this.entries.size;
  }

  async lease(key: string, make: () => Promise<P>): Promise<Lease<P>> {
    const entry = this.entries.get(key) ?? { made: make(), bytes: 0, users: 0, evicted: false };
    this.entries.delete(key);
    this.entries.set(key, entry);
    entry.users++;
    this.trim(entry);
    try {
      const program = await entry.made;
      entry.bytes = this.bounds.bytesOf(program);
      this.trim(entry);
      return { program, done: () => this.leave(entry) };
    } catch (error) {
      if (this.entries.get(key) === entry) this.entries.delete(key);
      throw error;
    }
  }

  /** Releases everything; running calls finish first. */
  async clear(): Promise<void> {
    for (const key of [...this.entries.keys()]) this.evict(key);
    await Promise.all(this.releases);
  }

  /** Evicts down to the bounds; neither `newest` nor, for bytes, programs within an even share of them. */
  private trim(newest: Entry<P>): void {
    const { programs, bytes } = this.bounds;
    const others = [...this.entries].filter(([, entry]) => entry !== newest);
    for (const [key] of others.splice(0, this.entries.size - programs)) this.evict(key);
    others.sort(([, a], [, b]) => b.bytes - a.bytes);
    for (const [key, entry] of others) {
      if (this.bytes <= bytes || entry.bytes <= bytes / programs) return;
      this.evict(key);
    }
  }

  private get bytes(): number {
    return [...this.entries.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  private evict(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.entries.delete(key);
    entry.evicted = true;
    if (entry.users === 0) this.free(entry);
  }

  private leave(entry: Entry<P>): void {
    entry.users--;
    if (entry.evicted && entry.users === 0) this.free(entry);
  }

  private free(entry: Entry<P>): void {
    const freed = entry.made.then(this.release, () => undefined);
    this.releases.add(freed);
    void freed.finally(() => this.releases.delete(freed));
  }
}
