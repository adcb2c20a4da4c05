import { describe, expect, it } from "vitest";
import { rank } from "./rank.ts";
import type { Hit } from "./retriever.ts";

const hits = (...scores: [string, number][]): Hit[] =>
  scores.map(([id, score]) => ({ id, title: "", text: "", score }));
const ids = (found: readonly Hit[] | undefined) => found?.map(({ id }) => id).join(" ");

describe("rank", () => {
  it("orders by score, then by id where scores differ by rounding only", () => {
    const found = hits(["c", 2], ["b", 3.0000001], ["a", 3], ["d", 1]);
    expect(ids(rank(found, 3, true))).toBe("a b c");
    expect(ids(rank(found, 3, false))).toBe("a b c");
  });

  it("asks for more when a passage left out could tie at place k", () => {
    expect(rank(hits(["c", 2], ["b", 1], ["a", 1]), 2, false)).toBeUndefined();
    expect(rank(hits(["c", 2], ["b", 1]), 2, false)).toBeUndefined();
    expect(rank(hits(["c", 2]), 2, false)).toBeUndefined();
    expect(ids(rank(hits(["c", 2], ["b", 1], ["a", 1]), 2, true))).toBe("c a");
    expect(ids(rank(hits(["c", 2]), 2, true))).toBe("c");
    expect(ids(rank([], 2, true))).toBe("");
  });

  it("leaves the ties below place k alone", () => {
    expect(ids(rank(hits(["c", 2], ["b", 1], ["a", 1]), 1, false))).toBe("c");
  });
});
