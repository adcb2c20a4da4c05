import { expect, test } from "vitest";
import { type SearchCondition, searchValue } from "./search-value.ts";
import { showSearchValue } from "./search-value-table.ts";
import { answered, record, wrong } from "./testing.ts";

const options = { most: 3, normalizer: "squad" };
const condition = (name: string, records: SearchCondition["records"], budget?: number): SearchCondition => ({
  name,
  records,
  ...(budget === undefined ? {} : { budget }),
});

/** Ten questions, two searches each; the first six right. */
const engine = condition(
  "engine",
  answered(10, (place) => place < 6, { searches: 2 }),
);
const empty = condition(
  "empty",
  answered(10, (place) => place < 2, { searches: 2 }),
  0,
);
const one = condition(
  "budget-1",
  answered(10, (place) => place < 3 || place === 9, { searches: 2 }),
  1,
);
const oracle = condition(
  "oracle",
  answered(10, (place) => place < 9, { searches: 1 }),
);

test("every condition is compared with the engine question by question, and p is adjusted for their number", () => {
  const { rows } = searchValue(engine, [empty, one, oracle], options);
  expect(rows.map(({ name, em }) => [name, em.mean])).toEqual([
    ["empty", 0.2],
    ["budget-1", 0.4],
    ["oracle", 0.9],
    ["engine", 0.6],
  ]);
  const [none, , all, reference] = rows;
  expect(none?.difference).toMatchObject({ difference: -0.4, pairs: { onlyA: 4, onlyB: 0 } });
  expect(none?.difference?.p).toBeCloseTo(0.125, 10);
  expect(none?.difference?.adjustedP).toBeCloseTo(0.375, 10);
  expect(all?.difference?.difference).toBeCloseTo(0.3, 10);
  expect(reference).not.toHaveProperty("difference");
});

test("over-search is being right with fewer answered searches than were made", () => {
  const { overSearch, withoutEvidence } = searchValue(engine, [empty, one], options);
  // Questions 0 and 1 needed none, question 2 one, and so did 9, which more searching led astray.
  expect(overSearch?.mean).toBeCloseTo(0.4, 10);
  expect(withoutEvidence?.mean).toBeCloseTo(0.2, 10);
  expect(searchValue(engine, [oracle], options)).toMatchObject({ overSearch: null, withoutEvidence: null });
});

test("under-search is a wrong answer of its own accord, with searches left and evidence not seen", () => {
  const gold = { goldPassages: 2, goldFound: 1 };
  const records = [
    wrong(0, { searches: 1, ...gold }), //                          under-searched
    wrong(1, { searches: 3, ...gold }), //                          no search was left
    wrong(2, { searches: 1, goldPassages: 2, goldFound: 2 }), //    had seen everything
    wrong(3, { searches: 1, ...gold, outcome: "turn_limit" }), //   did not choose to stop
    record(4, { searches: 1, ...gold }), //                         right
    wrong(5, { searches: 0 }), //                                   gold unknown, no search at all
    wrong(6, { searches: 1 }), //                                   gold unknown
  ];
  const { underSearch, rows } = searchValue(condition("engine", records), [], options);
  expect(underSearch.mean).toBeCloseTo(2 / 7, 10);
  expect(rows[0]?.stopped).toBeCloseTo(1 / 7, 10);
});

test("exact match by searches counts a question once for each number of searches that its samples made", () => {
  const records = [
    record(0, { searches: 1 }),
    wrong(0, { sample: 1, searches: 2 }),
    record(1, { searches: 1 }),
    wrong(1, { sample: 1, searches: 1 }),
  ];
  const { bySearches } = searchValue(condition("engine", records), [], options);
  expect(bySearches.map(({ searches, n, mean }) => [searches, n, mean])).toEqual([
    [1, 2, 0.75],
    [2, 1, 0],
  ]);
});

test("an oracle that was asked fewer questions is compared over those", () => {
  const some = condition(
    "oracle",
    answered(4, () => true),
  );
  const { rows } = searchValue(engine, [some], options);
  expect(rows[0]?.difference).toMatchObject({ n: 4, difference: 0 });
  expect(rows[0]?.em.n).toBe(4);
});

test("as a table for people and for notes", () => {
  const value = searchValue(engine, [empty, oracle], options);
  const text = showSearchValue("dev, greedy", value, false);
  expect(text).toMatch(/^empty +10 +0\.200 \[0\.057, 0\.510\] +−0\.400 /m);
  expect(text).toMatch(/^engine +10 +0\.600 .* – /m);
  expect(text).toContain("over-search: 20.0 % of the questions");
  const markdown = showSearchValue("dev, greedy", value, true);
  expect(markdown).toContain("### dev, greedy\n\n| searches answered by |");
  expect(markdown).toContain("\n- under-search: ");
});
