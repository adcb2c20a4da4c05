import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../rollout/testing.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import { codePoints, decodeVisible, GrowingText, TokenNames } from "./token-text.ts";

const bytes = byteTokenizer();
const tiny = tinyTokenizer({
  special: ["<pad>", "<eos>", "<search>", "</search>"],
  words: ["who", "wrote", "it"],
  syllables: ["ba", "be", "bi", "bo"],
});
const none: ReadonlySet<number> = new Set();

function grown(tokenizer: typeof bytes, ids: readonly number[], skip = none): string {
  const text = new GrowingText(tokenizer, skip);
  for (const id of ids) text.push(id);
  return text.text;
}

describe("a growing text", () => {
  test("law: has grown to the whole text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
        expect(grown(bytes, bytes.encode(text))).toBe(text);
        expect(decodeVisible(bytes, bytes.encode(text), none)).toBe(text.replace(/\ufffd$/, ""));
      }),
    );
    const ids = fc.array(fc.integer({ min: 0, max: tiny.vocabSize - 1 }), { maxLength: 30 });
    fc.assert(
      fc.property(ids, (list) => {
        expect(grown(tiny, list)).toBe(tiny.decode(list));
      }),
    );
  });

  test("holds half a character back, and drops it at the end", () => {
    const euro = bytes.encode("a€");
    expect(grown(bytes, euro.slice(0, 2))).toBe("a");
    expect(decodeVisible(bytes, euro.slice(0, 3), none)).toBe("a");
    expect(grown(bytes, euro)).toBe("a€");
  });

  test("bytes that never become a character come out in the end", () => {
    expect(grown(bytes, Array(8).fill(0x80))).toBe("\ufffd".repeat(8));
  });

  test("leaves out what it is told to skip", () => {
    const ids = [...bytes.encode("a"), 256, ...bytes.encode("b")];
    expect(grown(bytes, ids, new Set([256]))).toBe("ab");
    expect(grown(bytes, ids)).toBe("a<eos>b");
  });
});

describe("names of tokens", () => {
  const names = new TokenNames(bytes);

  test("law: names in a row are the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 20 }), (text) => {
        const ids = bytes.encode(text.replaceAll("\ufffd", ""));
        const said = ids.map((id, i) => names.of(id, ids.slice(0, i))).join("");
        expect(said).toBe(text.replaceAll("\ufffd", ""));
      }),
    );
  });

  test("bytes of one character go to the token that completes it", () => {
    const ids = bytes.encode("x€");
    expect(ids.map((id, i) => names.of(id, ids.slice(0, i)))).toEqual(["x", "", "", "€"]);
    expect(names.of(ids[1] as number, [])).toBe("");
  });
});

test("law: code points are counted as Python does", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(codePoints(text)).toBe([...text].length);
    }),
  );
});
