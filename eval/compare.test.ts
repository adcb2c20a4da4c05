import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ConfigError, DataError } from "../core/errors.ts";
import { type CompareOptions, compareEvaluations } from "./compare.ts";
import { showComparison, showSummary } from "./compare-table.ts";
import type { EvalRecord } from "./record.ts";
import { findEvaluations, readEvaluation, type StoredEvaluation } from "./stored.ts";
import { answered, broken, record, writeEvaluation, wrong } from "./testing.ts";

const root = mkdtempSync(join(tmpdir(), "forager-compare-"));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;

function stored(
  records: readonly EvalRecord[],
  o: Parameters<typeof writeEvaluation>[2] = {},
): StoredEvaluation {
  const folder = writeEvaluation(join(root, `${folders++}`), records, o);
  return readEvaluation(findEvaluations(folder)[0]!);
}
const compare = (a: StoredEvaluation, b: StoredEvaluation, options?: CompareOptions) =>
  compareEvaluations([[a, b]], options)[0]!;
const errorOf = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    return error as DataError;
  }
  throw new Error("nothing was thrown");
};

describe("compareEvaluations", () => {
  test("one point on 100 questions is noise, and the text says how many it would need", () => {
    const compared = compare(stored(answered(100, (i) => i < 50)), stored(answered(100, (i) => i < 51)));
    expect(compared).toMatchObject({ verdict: "noise", p: 1, questions: { compared: 100 } });
    expect(compared.difference.difference).toBeCloseTo(0.01, 12);
    expect(compared.difference.pairs).toMatchObject({ both: 50, onlyA: 0, onlyB: 1, neither: 49 });
    expect(compared.detectable).toBeGreaterThan(0.05);
    expect(compared.needed).toBeGreaterThan(1000);
    const text = showComparison(compared, { markdown: false, names: ["A", "B"] });
    expect(text).toContain(
      "noise: +0.010 in em does not tell B from A; 100 questions show differences from 0.0",
    );
    expect(text).toMatch(/one of this size needs about [\d,]+$/m);
  });

  test("a difference that is there: pairs, McNemar, interval, and the other metrics untested", () => {
    const compared = compare(
      stored(answered(200, (i) => i % 2 === 0, { turns: 3 })),
      stored(
        answered(200, (i) => i % 2 === 0 || i < 60),
        { manifest: { weights: "w1", step: 40 } },
      ),
    );
    expect(compared).toMatchObject({ verdict: "higher", tests: 1 });
    expect(compared.difference.pairs).toMatchObject({ onlyA: 0, onlyB: 30 });
    expect(compared.p).toBeCloseTo(2 ** -29, 15);
    expect(compared.differ).toEqual([{ key: "weights", a: "w0", b: "w1" }]);
    expect(compared.shown.map(({ label }) => label)).toEqual([
      "f1",
      "coverEm",
      "turns",
      "searches",
      "noSearch",
      "policyTokens",
    ]);
    expect(compared.shown.find(({ label }) => label === "turns")).toMatchObject({
      a: 3,
      b: 2,
      difference: -1,
    });
    expect(compare(stored(answered(30, () => true)), stored(answered(30, (i) => i > 9))).verdict).toBe(
      "lower",
    );
  });

  test("it is the questions that are paired: records in another order change nothing", () => {
    const a = answered(60, (i) => i % 3 === 0);
    const b = answered(60, (i) => i % 2 === 0);
    const { difference } = compare(stored(a), stored(b));
    expect(compare(stored(a), stored(b.toReversed())).difference).toEqual(difference);
    expect(difference.pairs).toMatchObject({ both: 10, onlyA: 10, onlyB: 20, neither: 20 });
  });

  test("samples of a question are one value; failures are left out and counted", () => {
    const samples = (place: number, ...marks: number[]) =>
      marks.map((em, sample) => (em === 1 ? record : wrong)(place, { sample }));
    const a = [
      ...samples(0, 1, 0),
      ...samples(1, 0, 0),
      ...samples(2, 1, 1),
      broken(3),
      broken(3, { sample: 1 }),
    ];
    const b = [
      ...samples(0, 1, 1),
      ...samples(1, 0, 1),
      wrong(2),
      broken(2, { sample: 1 }),
      ...samples(3, 1, 1),
    ];
    const compared = compare(stored(a), stored(b));
    expect(compared).toMatchObject({
      questions: { compared: 3, withoutValue: 1 },
      a: { mean: 0.5, infra: 2, episodes: 8 },
      b: { mean: 0.5, infra: 1 },
    });
    expect(compared.difference).not.toHaveProperty("pairs");
    // pass@2 of question 2 has no value in b: one of its two samples failed.
    const pass = compare(stored(a), stored(b), { metric: "pass@2" });
    expect(pass).toMatchObject({ questions: { compared: 2 }, a: { mean: 0.5 }, b: { mean: 1 } });
    expect(compared.shown.filter(({ label }) => /[@^]2$/.test(label)).map(({ label }) => label)).toEqual([
      "pass@2",
      "pass^2",
      "maj@2",
    ]);
  });

  test("data sets: micro and macro, and each", () => {
    const two = (right: (place: number) => boolean) =>
      answered(40, right).map((each) => ({
        ...each,
        dataset: each.place < 30 ? "large" : "small",
        hops: (each.place % 2) + 1,
      }));
    const { difference, split } = compare(stored(two(() => false)), stored(two((i) => i >= 30)));
    expect(difference.difference).toBe(0.25);
    expect(split.map(({ label, n, difference }) => [label, n, difference])).toEqual([
      ["mean of 2 data sets", 40, 0.5],
      ["large", 30, 0],
      ["small", 10, 1],
      ["1 hop", 20, 0.25],
      ["2 hops", 20, 0.25],
    ]);
  });

  test("many comparisons: Holm makes of two p below 0.05 one that counts", () => {
    const base = stored(answered(100, (i) => i < 40));
    const better = (gains: number) => stored(answered(100, (i) => i < 40 + gains));
    const [large, small] = compareEvaluations([
      [base, better(20)],
      [base, better(6)],
      [base, better(0)],
    ]);
    expect(small).toMatchObject({ p: 0.03125, adjustedP: 0.0625, tests: 3, verdict: "noise" });
    expect(large).toMatchObject({ verdict: "higher" });
    const text = showSummary(
      [
        { name: "B", compared: large! },
        { name: "C", compared: small! },
      ],
      false,
    );
    expect(text).toMatch(/C +dev, greedy +100 +0\.400 +0\.460 +\+0\.060 +\[.*\] +0\.0625 +noise/);
  });

  test("a reward part, a judge and recall are metrics", () => {
    const judged = (verdict: number) =>
      answered(20, () => true).map((each, i) => ({
        ...each,
        goldPassages: 2,
        goldFound: i % 3,
        parts: { judge: verdict * (i % 2), tidy: i },
      }));
    const [a, b] = [stored(judged(0.5)), stored(judged(1))];
    expect(compare(a, b, { metric: "judge" }).difference.difference).toBeCloseTo(0.25, 12);
    expect(compare(a, b, { metric: "tidy" })).toMatchObject({
      verdict: "noise",
      detectable: null,
      needed: null,
    });
    expect(compare(a, b).shown.map(({ label }) => label)).toEqual(
      expect.arrayContaining(["judge", "recall"]),
    );
  });
});

describe("what is refused, and by what name", () => {
  const base = () => stored(answered(10, () => true));

  test.each([
    ["normalizer", { normalizer: "strict" }],
    ["normalizerVersion", { normalizerVersion: 2 }],
    ["extraction", { extraction: "first" }],
    ["mode", { mode: "sampled" }],
  ])("another %s", (key, manifest) => {
    const error = errorOf(() =>
      compare(
        base(),
        stored(
          answered(10, () => true),
          { manifest },
        ),
        { intersection: true },
      ),
    );
    expect(error).toBeInstanceOf(DataError);
    expect(error.complaint.what).toContain(`\`${key}\``);
    expect(error.complaint.got).toContain(String(Object.values(manifest)[0]));
  });

  test("other questions: which, and that one is unfinished; those in common when asked for", () => {
    const [a, b] = [answered(12, (i) => i < 6), answered(12, (i) => i < 6).slice(4)];
    const short = stored(b, { manifest: { questions: 12 }, valid: "unfinished" });
    const error = errorOf(() => compare(stored(a), short));
    expect(error.complaint.what).toBe("the evaluations asked different questions");
    expect(error.complaint.got).toMatch(
      /^8 in common; .* is unfinished, 8 of 12 episodes; 4 in the first alone \(q0, q1, q2, …\); 0 in the second alone$/,
    );
    expect(compare(stored(a), short, { intersection: true }).questions).toEqual({
      compared: 8,
      onlyA: 4,
      onlyB: 0,
      withoutValue: 0,
    });
    const elsewhere = stored(answered(5, () => true).map((each) => ({ ...each, id: `x${each.id}` })));
    expect(errorOf(() => compare(base(), elsewhere, { intersection: true })).complaint.what).toContain(
      "no question in common",
    );
  });

  test("another question or gold under one id, even in an intersection", () => {
    for (const [over, what] of [
      [{ question: "what?" }, "other question"],
      [{ goldenAnswers: ["h"] }, "other gold answers"],
    ] as [Partial<EvalRecord>, string][]) {
      const changed = stored(answered(10, () => true, over));
      expect(errorOf(() => compare(base(), changed, { intersection: true })).complaint.what).toContain(what);
    }
  });

  test("an evaluation that does not count, and one in which everything failed", () => {
    expect(
      errorOf(() =>
        compare(
          base(),
          stored(
            answered(10, () => true),
            { valid: false },
          ),
        ),
      ).complaint.what,
    ).toContain("does not count");
    const dead = stored(Array.from({ length: 10 }, (_, i) => broken(i)));
    expect(errorOf(() => compare(base(), dead)).complaint.what).toContain(
      "no question has a valid episode in both",
    );
  });

  test("a metric that they lack: the nearest, and more k than samples", () => {
    const error = errorOf(() => compare(base(), base(), { metric: "coverEM2" }));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.complaint.next).toBe("Did you mean `coverEm`?");
    expect(errorOf(() => compare(base(), base(), { metric: "pass@4" })).complaint).toMatchObject({
      what: "there is no pass@4",
      got: "1 sample of each question",
    });
    expect(errorOf(() => compare(base(), base(), { metric: "maj@many" })).complaint.what).toContain(
      "has no k",
    );
  });
});

test("Markdown is a table of its own, the same numbers", () => {
  const compared = compare(stored(answered(100, (i) => i < 50)), stored(answered(100, (i) => i < 51)));
  const text = showComparison(compared, { markdown: true, names: ["A", "B"] });
  expect(text).toContain("### dev, greedy: B against A");
  expect(text).toMatch(/\| em \| questions \| A \| B \| difference \| 95 % \|\n\| :-- \| --: /);
  expect(text).toMatch(/^- noise: /m);
});
