import { expect, test } from "vitest";
import type { SearchRecord } from "../env/environment.ts";
import { evidence, freshQuery, isSupported, novelSearch, turnCredits } from "./process.ts";
import { repeatedNgrams, repeatedQueries, repeatedTags } from "./repetition.ts";

const search = (passageIds: string[], repeated = false): SearchRecord => ({
  ...{ query: passageIds.join(), passageIds, repeated, milliseconds: 1 },
});

test("evidence: the share of gold passages that any search showed, each counted once", () => {
  const searches = [search(["a", "x"]), search(["a", "y"])];
  expect(evidence(searches, ["a"])).toBe(1);
  expect(evidence(searches, ["a", "b"])).toBe(0.5);
  expect(evidence(searches, ["a", "a", "b"])).toBe(0.5);
  expect(evidence([], ["a"])).toBe(0);
});

test("novel searches show something new; an empty result and a repeat do not", () => {
  expect(novelSearch([search(["a"]), search(["a"], true), search([]), search(["a", "b"])])).toBe(0.5);
  expect(novelSearch([])).toBe(0);
});

test("fresh and repeated queries are shares of the searches, and nothing without one", () => {
  const searches = [search(["a"]), search(["a"], true), search(["a"], true), search(["b"])];
  expect([freshQuery(searches), repeatedQueries(searches)]).toEqual([0.5, 0.5]);
  expect([freshQuery([]), repeatedQueries([])]).toEqual([0, 0]);
});

test("an answer is supported by whole words of an observation", () => {
  expect(isSupported("ada lovelace", ["the book by ada lovelace of london"])).toBe(true);
  expect(isSupported("ada", ["adam wrote"])).toBe(false);
  expect(isSupported("", ["anything"])).toBe(false);
  expect(isSupported("no", ["x"])).toBe(true);
  expect(isSupported("yes", [])).toBe(false);
});

test("turn credits: new gold 1, new passages 1/2, nothing new 0; the last turn 1 when supported", () => {
  const [policy, seen] = [{ source: "policy" }, { source: "observation" }] as const;
  const injected = { source: "injected" } as const;
  const segments = [policy, seen, policy, seen, policy, seen, policy, injected, policy];
  const searches = [search(["x"]), search(["x", "g"]), search(["g"])];
  expect(turnCredits(segments, searches, { gold: ["g"], supported: true })).toEqual([0.5, 1, 0, 0, 1]);
  expect(turnCredits(segments, searches, { gold: ["g"], supported: false })).toEqual([0.5, 1, 0, 0, 0]);
  expect(turnCredits([policy, seen], [search(["g"])], { gold: ["g"], supported: true })).toEqual([1]);
  expect(turnCredits([], [], { gold: ["g"], supported: true })).toEqual([]);
});

test("repeated tags and n-grams: shares of what is one too many", () => {
  expect([0, 1, 2, 4].map(repeatedTags)).toEqual([0, 0, 0.5, 0.75]);
  expect(repeatedNgrams(["a b c a B c"], 2)).toBeCloseTo(2 / 5, 12);
  expect(repeatedNgrams(["a b", "b a"], 2)).toBe(0);
  expect(repeatedNgrams(["a b", "a b"], 2)).toBe(0.5);
  expect(repeatedNgrams(["a b"], 3)).toBe(0);
  expect(repeatedNgrams([], 1)).toBe(0);
});
