import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commonPrefix } from "./kv-store.ts";
import { PrefixStore } from "./prefix-store.ts";

const [a, b] = [{ name: "a" }, { name: "b" }];
const keep = (store: PrefixStore, owner: object, tokens: readonly number[], mark = 0) =>
  store.add(owner, tokens, { size: 16, save: (into) => into.fill(mark) });

describe("prefix store", () => {
  test("finds the entry that shares most, of the owner alone", () => {
    const store = new PrefixStore(1000);
    keep(store, a, [1, 2, 3, 4], 1);
    keep(store, a, [1, 2, 9], 2);
    keep(store, b, [1, 2, 3, 5, 6, 7], 3);
    expect(store.longest(a, [1, 2, 3, 5, 6])).toMatchObject({ shared: 3, kept: { tokens: [1, 2, 3, 4] } });
    expect(store.longest(a, [1, 2, 9, 9])?.kept.packed[0]).toBe(2);
    expect(store.longest(b, [1, 2, 3, 5, 6])).toMatchObject({ shared: 5 });
    expect(store.longest(a, [7])).toBeUndefined();
    expect(store.longest({}, [1])).toBeUndefined();
    store.forget(a);
    expect(store.longest(a, [1, 2, 3])).toBeUndefined();
    expect(store.longest(b, [1])).toMatchObject({ shared: 1 });
    expect(store.bytes).toBe(64);
  });

  test("an extension takes the place of what it extends; what is covered is not kept twice", () => {
    const store = new PrefixStore(1000);
    keep(store, a, [1, 2], 1);
    keep(store, a, [1, 2, 3], 2);
    expect(store.bytes).toBe(64);
    keep(store, a, [1, 2], 3);
    expect(store.bytes).toBe(64);
    expect(store.longest(a, [1, 2])?.kept.packed[0]).toBe(2);
  });

  test("stays within its bytes whatever comes; the least recently used goes first", () => {
    const store = new PrefixStore(3 * 64);
    for (const token of [1, 2, 3]) keep(store, a, [token]);
    expect(store.longest(a, [1])).toBeDefined();
    keep(store, b, [4]);
    expect(store.longest(a, [2])).toBeUndefined();
    expect(store.longest(a, [1])).toBeDefined();
    const none = new PrefixStore(63);
    keep(none, a, [1]);
    expect(none.longest(a, [1])).toBeUndefined();
    const text = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), text), { maxLength: 40 }), (added) => {
        const tight = new PrefixStore(5 * 64);
        for (const [first, tokens] of added) {
          keep(tight, first ? a : b, tokens);
          expect(tight.bytes).toBeLessThanOrEqual(5 * 64);
          const found = tight.longest(first ? a : b, tokens);
          expect(found?.shared).toBe(tokens.length);
          expect(commonPrefix(found?.kept.tokens ?? [], tokens)).toBe(tokens.length);
        }
      }),
    );
  });
});
