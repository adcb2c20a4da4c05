import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { DataError } from "../core/errors.ts";
import { type CompareOptions, compareEvaluations } from "./compare.ts";
import { showComparison } from "./compare-table.ts";
import { atPrices } from "./cost.ts";
import type { EvalRecord } from "./record.ts";
import { findEvaluations, readEvaluation, type StoredEvaluation } from "./stored.ts";
import { answered, writeEvaluation } from "./testing.ts";

const root = mkdtempSync(join(tmpdir(), "forager-comparable-"));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;
function stored(records: readonly EvalRecord[], o: Parameters<typeof writeEvaluation>[2] = {}) {
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

describe("judge and reward", () => {
  const judge = { "judge.model": "m", "judge.rubric": "r1", "reward.combination": "sum" };
  const under = (manifest: object) =>
    stored(
      answered(10, () => true, { parts: { judge: 1, process: 0.5 } }),
      { manifest: { ...manifest } },
    );

  test.each([
    ["judge.model", { ...judge, "judge.model": "n" }],
    ["judge.rubric", { ...judge, "judge.rubric": "r2" }],
    ["judge.temperature", { ...judge, "judge.temperature": 1 }],
  ])("another %s, whatever is compared", (key, manifest) => {
    const error = errorOf(() => compare(under(judge), under(manifest)));
    expect(error.complaint.what).toContain(`\`${key}\``);
  });

  test("weights change the reward, not exact match; a judge beside none, and older manifests, compare", () => {
    const [a, b] = [
      { "reward.weights.f1": 0.1 },
      { "reward.weights.f1": 0.2, "reward.process.of": "evidence" },
    ];
    expect(compare(under(a), under(b)).differ).toEqual([
      { key: "reward.weights.f1", a: "0.1", b: "0.2" },
      { key: "reward.process.of", a: undefined, b: "evidence" },
    ]);
    expect(errorOf(() => compare(under(a), under(b), { metric: "reward" })).complaint).toMatchObject({
      what: expect.stringContaining("`reward.weights.f1`"),
      next: expect.stringContaining("Compare em or f1"),
    });
    expect(errorOf(() => compare(under(a), under(b), { metric: "process" })).complaint.got).toBe(
      "none and evidence",
    );
    expect(compare(under(judge), under(a)).verdict).toBe("noise");
    expect(errorOf(() => compare(under(judge), under(a), { metric: "judge" })).complaint.what).toContain(
      "judge.model",
    );
    expect(compare(under(judge), under({}), { metric: "judge" }).differ).toEqual([
      { key: "judge", a: "m", b: undefined },
    ]);
  });
});

describe("cost", () => {
  const prices = { currency: "USD", promptPerMillionTokens: 3, completionPerMillionTokens: 15 };
  const paid = (promptTokens: number, currency = "USD") =>
    stored(
      answered(20, () => true).map((each) =>
        atPrices({ ...each, promptTokens: promptTokens + each.place }, { ...prices, currency }),
      ),
    );

  test("in all, a question, and as a metric; without prices not a word", () => {
    const compared = compare(paid(1000), paid(2000), { metric: "cost" });
    expect(compared).toMatchObject({ verdict: "higher", a: { cost: { currency: "USD" } } });
    expect(compared.difference.difference).toBeCloseTo(0.003, 12);
    const text = showComparison(compared, { markdown: false, names: ["A", "B"] });
    expect(text).toContain("cost in all and a question: 0.064 (0.0032) USD and 0.12 (0.0062) USD");
    expect(text).toContain("+0.0030");
    const em = showComparison(compare(paid(1000), paid(2000)), { markdown: false, names: ["A", "B"] });
    expect(em).toMatch(/^cost +20 +0\.0032 +0\.0062 +\+0\.0030/m);
    const silent = stored(answered(20, () => true));
    const text2 = showComparison(compare(silent, silent), { markdown: false, names: ["A", "B"] });
    expect(text2).not.toContain("cost");
    const half = compare(silent, paid(1000));
    expect(half.shown.map(({ label }) => label)).not.toContain("cost");
    expect(showComparison(half, { markdown: false, names: ["A", "B"] })).toContain("not said and 0.064");
  });

  test("two currencies are not compared", () => {
    const compared = compare(paid(1000), paid(1000, "EUR"));
    expect(compared.shown.map(({ label }) => label)).not.toContain("cost");
    const error = errorOf(() => compare(paid(1000), paid(1000, "EUR"), { metric: "cost" }));
    expect(error.complaint.got).toBe("USD and EUR");
  });
});
