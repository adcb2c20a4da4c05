import fc from "fast-check";
import { expect, it } from "vitest";
import { LineIndex } from "./line-index.ts";

it("finds a repeated id among thousands, and its first line", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 200 }), fc.nat(), (ids, pick) => {
      const index = new LineIndex("corpus.jsonl");
      ids.forEach((id, i) => {
        index.add(id, i + 1);
      });
      const again = pick % ids.length;
      expect(() => index.add(ids[again] as string, ids.length + 1)).toThrow(
        `which is on line ${again + 1} too`,
      );
    }),
  );
  const index = new LineIndex("corpus.jsonl");
  for (let i = 0; i < 100_000; i++) index.add(`hp-${i}`, i + 1);
  expect(() => index.add("hp-41", 100_001)).toThrowErrorMatchingInlineSnapshot(
    `[DataError: corpus.jsonl:100001: duplicate id: expected a different id on every line, got "hp-41", which is on line 42 too. Rename or remove one of the two.]`,
  );
});
