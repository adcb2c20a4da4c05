import { commonPrefix, type Kept, KvStore } from "./kv-store.ts";

/** More entries than this make the search for a prefix slower than it is worth. */
const mostEntries = 2048;

/**
 * Keys and values of finished texts, found again by the prefix a new prompt shares with them. An owner sees its own
 * entries alone: keys and values of one version's weights mean nothing under another's.
 */
export class PrefixStore extends KvStore {
  readonly #entries = new Map<object, Map<string, Kept>>();
  readonly #owners = new Map<string, object>();
  #serial = 0;

  /** The entry that shares most leading tokens with `tokens`. */
  longest(
    owner: object,
    tokens: readonly number[],
  ): { readonly kept: Kept; readonly shared: number } | undefined {
    let best: { key: string; kept: Kept; shared: number } | undefined;
    for (const [key, kept] of this.#entries.get(owner) ?? []) {
      const shared = commonPrefix(kept.tokens, tokens);
      if (shared > (best?.shared ?? 0)) best = { key, kept, shared };
    }
    if (best) this.get(best.key); // The least recently used go first.
    return best;
  }

  /** Keeps what `save` writes into a buffer of `size` numbers; entries that the new one extends make room for it. */
  add(
    owner: object,
    tokens: readonly number[],
    { size, save }: { readonly size: number; readonly save: (into: Float32Array) => void },
  ): void {
    for (const [key, kept] of this.#entries.get(owner) ?? []) {
      const shared = commonPrefix(kept.tokens, tokens);
      if (shared === tokens.length) return;
      if (shared === kept.tokens.length) this.delete(key);
    }
    const packed = this.buffer(size);
    if (!packed) return;
    save(packed);
    const key = `${this.#serial++}`;
    const kept = { tokens, packed };
    this.put(key, kept); // Before the index: it begins by deleting what bears this key.
    this.#owners.set(key, owner);
    const mine = this.#entries.get(owner);
    if (mine) mine.set(key, kept);
    else this.#entries.set(owner, new Map([[key, kept]]));
    if (this.#owners.size > mostEntries) this.delete(this.#owners.keys().next().value as string);
  }

  /** Drops everything of an owner. */
  forget(owner: object): void {
    for (const key of [...(this.#entries.get(owner)?.keys() ?? [])]) this.delete(key);
    this.trim();
  }

  override delete(key: string): void {
    super.delete(key);
    const owner = this.#owners.get(key);
    if (!owner) return;
    this.#owners.delete(key);
    const mine = this.#entries.get(owner);
    mine?.delete(key);
    if (mine?.size === 0) this.#entries.delete(owner);
  }
}
