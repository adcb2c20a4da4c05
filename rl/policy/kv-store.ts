/** Keys and values of one sequence between two turns. */
export interface Kept {
  /** Tokens whose keys and values are kept, [N]. */
  readonly tokens: readonly number[];
  /** As `KvArena.save` packs them, [2 * layers, KV, N, hd]. */
  readonly packed: Float32Array;
}

/** What sequences left behind, within a budget of bytes; the least recently used go first. */
export class KvStore {
  readonly #limit: number;
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
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
    if (kept.packed.byteLength > this.#limit) return;
    this.#kept.set(sequence, kept);
    this.#bytes += kept.packed.byteLength;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#limit) return;
      this.delete(oldest);
    }
  }

  delete(sequence: string): void {
    const kept = this.#kept.get(sequence);
    if (!kept) return;
    this.#kept.delete(sequence);
    this.#bytes -= kept.packed.byteLength;
  }
}

/** How many leading tokens two lists share. */
export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const most = Math.min(a.length, b.length);
  let n = 0;
  while (n < most && a[n] === b[n]) n++;
  return n;
}
