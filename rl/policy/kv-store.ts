/** Keys and values of one sequence between two turns; members that wrote the same text share one. */
export interface Kept {
  /** Tokens whose keys and values are kept, [N]. */
  readonly tokens: readonly number[];
  /** As `KvArena.save` packs them, [2 * layers, KV, N, hd], with room to spare at the end. */
  readonly packed: Float32Array;
}

/**
 * What sequences left behind, within a budget of bytes; the least recently used go first. Buffers are used
 * again: allocating afresh each turn cost a tenth of the rollout in page faults and garbage collection.
 */
export class KvStore {
  readonly #limit: number;
  readonly #kept = new Map<string, Kept>();
  readonly #users = new Map<Kept, number>();
  readonly #free = new Map<number, Float32Array[]>();
  #usedBytes = 0;
  #freeBytes = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** Bytes held, free buffers included. */
  get bytes(): number {
    return this.#usedBytes + this.#freeBytes;
  }

  /** A buffer of `size` numbers to save into, holding anything; undefined when it could never be kept. */
  buffer(size: number): Float32Array | undefined {
    if (size * 4 > this.#limit) return undefined;
    const known = this.#free.get(size)?.pop();
    if (known) this.#freeBytes -= known.byteLength;
    return known ?? new Float32Array(size);
  }

  get(sequence: string): Kept | undefined {
    const kept = this.#kept.get(sequence);
    if (kept) {
      this.#kept.delete(sequence);
      this.#kept.set(sequence, kept);
    }
    return kept;
  }

  put(sequence: string, kept: Kept): void {
    this.delete(sequence);
    this.#kept.set(sequence, kept);
    const users = this.#users.get(kept) ?? 0;
    this.#users.set(kept, users + 1);
    if (users === 0) this.#usedBytes += kept.packed.byteLength;
    if (this.bytes > this.#limit) this.trim();
    for (const oldest of this.#kept.keys()) {
      if (this.#usedBytes <= this.#limit) break;
      this.delete(oldest);
      this.trim();
    }
  }

  delete(sequence: string): void {
    const kept = this.#kept.get(sequence);
    if (!kept) return;
    this.#kept.delete(sequence);
    const users = (this.#users.get(kept) as number) - 1;
    this.#users.set(kept, users);
    if (users > 0) return;
    this.#users.delete(kept);
    const { packed } = kept;
    this.#usedBytes -= packed.byteLength;
    this.#freeBytes += packed.byteLength;
    const same = this.#free.get(packed.length);
    if (same) same.push(packed);
    else this.#free.set(packed.length, [packed]);
  }

  /** Forgets every sequence; the buffers stay for the next ones. */
  clear(): void {
    for (const sequence of [...this.#kept.keys()]) this.delete(sequence);
  }

  /** Gives free buffers back to the system. */
  trim(): void {
    this.#free.clear();
    this.#freeBytes = 0;
  }
}

/** How many leading tokens two lists share. */
export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const most = Math.min(a.length, b.length);
  let n = 0;
  while (n < most && a[n] === b[n]) n++;
  return n;
}
