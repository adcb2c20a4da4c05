import fc from "fast-check";
import { expect, test } from "vitest";
import { commonPrefix, KvStore } from "./kv-store.ts";

const kept = (size: number, store: KvStore) => ({
  tokens: [size],
  packed: store.buffer(size) as Float32Array,
});

test("keeps within its budget, the least recently used going first", () => {
  const store = new KvStore(4 * 30);
  for (const name of ["a", "b", "c"]) store.put(name, kept(10, store));
  expect(store.get("a")?.tokens).toEqual([10]);
  store.put("d", kept(10, store));
  expect(store.get("b")).toBeUndefined();
  expect(["a", "c", "d"].map((name) => store.get(name)?.tokens)).toEqual([[10], [10], [10]]);
  expect(store.bytes).toBe(120);
  expect(store.buffer(31)).toBeUndefined();
});

test("a shared entry is one entry, and lives until its last user is gone", () => {
  const store = new KvStore(1000);
  const shared = kept(20, store);
  store.put("a", shared);
  store.put("b", shared);
  expect(store.bytes).toBe(80);
  store.delete("a");
  const fresh = store.buffer(20);
  expect(fresh).not.toBe(shared.packed);
  store.delete("b");
  expect(store.buffer(20)).toBe(shared.packed);
});

test("never above its budget, and never hands out a buffer in use", () => {
  const step = fc.record({
    name: fc.constantFrom("a", "b", "c", "d", "e"),
    size: fc.constantFrom(5, 10, 20),
    what: fc.constantFrom("put", "put", "delete", "get", "clear"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const store = new KvStore(4 * 50);
      const names = ["a", "b", "c", "d", "e"];
      for (const { name, size, what } of steps) {
        if (what === "delete") store.delete(name);
        else if (what === "clear") store.clear();
        else if (what === "get") store.get(name);
        else {
          const entry = kept(size, store);
          expect(names.some((other) => store.get(other)?.packed === entry.packed)).toBe(false);
          store.put(name, entry);
          expect(store.get(name)).toBe(entry);
        }
        expect(store.bytes).toBeLessThanOrEqual(200);
      }
    }),
  );
});

test("commonPrefix counts leading equal tokens", () => {
  expect(commonPrefix([1, 2, 3], [1, 2, 4, 5])).toBe(2);
  expect(commonPrefix([], [1])).toBe(0);
  expect(commonPrefix([1, 2], [1, 2])).toBe(2);
});
