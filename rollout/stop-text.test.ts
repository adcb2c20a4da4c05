import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StopText } from "./stop-text.ts";
import { byteTokenizer } from "./testing.ts";

const tokenizer = byteTokenizer();

/** The first match of each text, with how many bytes it took. */
function matches(text: string, stop: readonly string[]): [string, number][] {
  const watch = new StopText(tokenizer, stop);
  return tokenizer.encode(text).flatMap((token, i): [string, number][] => {
    const match = watch.match(token);
    return match === undefined ? [] : [[match, i + 1]];
  });
}

describe("stop strings in a growing text", () => {
  test("are named as they are completed, and told once", () => {
    expect(matches("a</search>b</search>", ["</search>"])).toEqual([
      ["</search>", 10],
      ["</search>", 20],
    ]);
    // A longer one beside it keeps the text in view, not the match.
    expect(matches("ab cdefgh", ["b", "not there at all"])).toEqual([["b", 2]]);
    expect(matches("xaab", ["b", "aab"]).map(([match]) => match)).toEqual(["b"]);
    expect(matches("東京", ["京"])).toEqual([["京", 6]]);
    expect(matches("anything", [])).toEqual([]);
  });

  test("the one that ends first is named when one token completes several", () => {
    const words = {
      ...tokenizer,
      decode: (ids: readonly number[]) => ids.map((id) => ["one ", "two three"][id]).join(""),
    };
    const watch = new StopText(words, ["three", "two"]);
    expect(watch.match(0)).toBeUndefined();
    expect(watch.match(1)).toBe("two");
  });

  test("push is true exactly where the text first holds one", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 20 });
    const stop = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "é"), minLength: 1, maxLength: 3 }), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(text, stop, (said, stops) => {
        const first = [...said].findIndex((_, i) =>
          stops.some((each) =>
            [...said]
              .slice(0, i + 1)
              .join("")
              .includes(each),
          ),
        );
        const bytes = first < 0 ? undefined : tokenizer.encode([...said].slice(0, first + 1).join("")).length;
        expect(matches(said, stops)[0]?.[1]).toBe(bytes);
      }),
    );
  });
});
