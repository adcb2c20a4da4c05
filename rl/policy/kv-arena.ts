import { InvariantError } from "../../core/errors.ts";
import type { Arr } from "../../engine/array.ts";
import type { ModelConfig } from "./model-config.ts";

/** A layer's cache as `extend` reads it, each [B, KV, slots, hd]. */
export interface CacheArrays {
  readonly [name: string]: Arr;
  readonly k: Arr;
  readonly v: Arr;
}

/**
 * Keys and values of the sequences being sampled, one plain array per layer and kind, [rows, KV, slots, hd].
 * Rows are contiguous, so any run of rows is a view without a copy. Slots beyond a row's length hold whatever
 * was there before (finite, and masked): nothing is ever cleared.
 */
export class KvArena {
  readonly #kvHeads: number;
  readonly #headDim: number;
  readonly #arrays: Float32Array[]; // k and v of each layer in turn, [2 * layers]
  #slots = 0;
  #views = new Map<string, CacheArrays[]>();

  constructor(config: ModelConfig) {
    this.#kvHeads = config.kvHeads;
    this.#headDim = config.headDim;
    this.#arrays = Array.from({ length: 2 * config.layers }, () => new Float32Array(0));
  }

  get slots(): number {
    return this.#slots;
  }

  /** Makes room for `rows` sequences of `slots` positions; what was there is lost. */
  reset(rows: number, slots: number): void {
    this.#slots = slots;
    this.#views.clear();
    this.#reserve(rows * this.#stride, 0);
  }

  /** More slots per row, the first `rows` rows kept. */
  grow(rows: number, slots: number, capacity: number): void {
    const old = this.#slots;
    const width = this.#headDim;
    this.#slots = slots;
    this.#views.clear();
    this.#reserve(capacity * this.#stride, rows * this.#kvHeads * old * width);
    // Blocks only move up: from the last to the first nothing is overwritten before it has moved.
    for (const array of this.#arrays)
      for (let block = rows * this.#kvHeads - 1; block > 0; block--)
        array.copyWithin(block * slots * width, block * old * width, (block + 1) * old * width);
  }

  /** Caches of rows [from, from + count). */
  view(from: number, count: number): readonly CacheArrays[] {
    const key = `${from}/${count}`;
    const known = this.#views.get(key);
    if (known) return known;
    const shape = [count, this.#kvHeads, this.#slots, this.#headDim];
    const part = (array: Float32Array | undefined): Arr => {
      const data = (array as Float32Array).subarray(from * this.#stride, (from + count) * this.#stride);
      if (data.length !== count * this.#stride)
        throw new InvariantError({ what: `rows ${key} lie outside the key-value arena` });
      return { shape, dtype: "float32", data };
    };
    const caches = Array.from({ length: this.#arrays.length / 2 }, (_, layer) => ({
      k: part(this.#arrays[2 * layer]),
      v: part(this.#arrays[2 * layer + 1]),
    }));
    this.#views.set(key, caches);
    return caches;
  }

  /**
   * Writes the first `count` of a row's new keys and values at positions [at, at + count).
   * `keys` and `values` are one [B, KV, T, hd] per layer, the row being number `source` of them.
   */
  write(row: number, at: number, count: number, fresh: FreshRow): void {
    const width = this.#headDim;
    const { keys, values, source, length } = fresh;
    for (let i = 0; i < this.#arrays.length; i++) {
      const from = ((i % 2 === 0 ? keys : values)[i >> 1] as Arr).data as Float32Array;
      const into = this.#arrays[i] as Float32Array;
      for (let head = 0; head < this.#kvHeads; head++) {
        let to = ((row * this.#kvHeads + head) * this.#slots + at) * width;
        let read = (source * this.#kvHeads + head) * length * width;
        // One position is too little for the overhead of `set`.
        if (count > 2) into.set(from.subarray(read, read + count * width), to);
        else for (const end = read + count * width; read < end; ) into[to++] = from[read++] as number;
      }
    }
  }

  copyRow(from: number, to: number): void {
    if (from === to) return;
    const stride = this.#stride;
    for (const array of this.#arrays) array.copyWithin(to * stride, from * stride, (from + 1) * stride);
  }

  /** Numbers that `save` writes for one position. */
  get perPosition(): number {
    return this.#arrays.length * this.#kvHeads * this.#headDim;
  }

  /** Packs the first `length` positions of a row, [2 * layers, KV, length, hd], at the start of `into`. */
  save(row: number, length: number, into: Float32Array): void {
    const size = length * this.#headDim;
    let to = 0;
    for (const array of this.#arrays)
      for (let head = 0; head < this.#kvHeads; head++, to += size) {
        const from = (row * this.#kvHeads + head) * this.#slots * this.#headDim;
        into.set(array.subarray(from, from + size), to);
      }
  }

  /** Puts the first `length` positions of what `save` packed (`saved` positions in all) into a row. */
  load(row: number, packed: Float32Array, saved: number, length: number): void {
    const width = this.#headDim;
    let from = 0;
    for (const array of this.#arrays)
      for (let head = 0; head < this.#kvHeads; head++, from += saved * width) {
        const to = (row * this.#kvHeads + head) * this.#slots * width;
        array.set(packed.subarray(from, from + length * width), to);
      }
  }

  /** Frees the memory. */
  clear(): void {
    this.#views.clear();
    this.#arrays.fill(new Float32Array(0));
    this.#slots = 0;
  }

  /** Numbers of one row in one array. */
  get #stride(): number {
    return this.#kvHeads * this.#slots * this.#headDim;
  }

  #reserve(size: number, keep: number): void {
    for (let i = 0; i < this.#arrays.length; i++) {
      const array = this.#arrays[i] as Float32Array;
      if (array.length >= size) continue;
      const larger = new Float32Array(Math.ceil(size * (array.length === 0 ? 1 : 1.25)));
      larger.set(array.subarray(0, keep));
      this.#arrays[i] = larger;
    }
  }
}

/** New keys and values of one row of a forward call. */
export interface FreshRow {
  readonly keys: readonly Arr[];
  readonly values: readonly Arr[];
  readonly source: number;
  /** T of the call. */
  readonly length: number;
}
