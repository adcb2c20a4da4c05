import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type CellEvaluations, compareCells } from "../ablation.ts";
import type { AblationReport } from "../ablation-table.ts";
import { searchValue } from "../search-value.ts";
import { answered } from "../testing.ts";
import { csvHead } from "./csv.ts";
import { reportFormats } from "./formats.ts";
import { gatherReport } from "./gather.ts";
import type { Report } from "./report.ts";
import { resultsOf } from "./result.ts";
import { writeJson } from "./testing.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-results-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const written = (name: string, file: string, value: unknown): string => {
  writeJson(join(folder, name, file), value);
  return join(folder, name);
};
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, first]) => first);

const cell = (name: string, ...right: readonly number[]): CellEvaluations => ({
  name,
  bySeed: new Map(
    right.map((n, i) => [
      i + 1,
      [
        {
          ...{ folder: "f", benchmark: "dev", mode: "greedy", step: 4, samples: 1, questions: 20 },
          ...{ manifest: { normalizer: "squad" }, records: answered(20, (q) => q < n) },
        },
      ],
    ]),
  ),
});
const names = ["base", "better", ...Array.from({ length: 7 }, (_, i) => `same-${i}`)];
const ablation: AblationReport = {
  ...{ name: "toy", metric: "em", notes: ["a note"] },
  cells: names.map((name) => ({
    name,
    changes: name === "base" ? [] : [{ key: "rl.filter", base: "spread", cell: "<none>" }],
  })),
  rows: compareCells([cell("base", 5, 6, 4), cell("better", 18, 18, 19), cell("same-0", 6, 4, 5)], {
    ...{ metric: "em", trained: true },
  }),
  failed: [{ cell: "same-1", seed: 2, error: "out of memory" }],
  curves: ["EM dev, greedy", "training reward"].map((metric) => ({
    metric,
    points: names.flatMap((name, i) =>
      [1, 2].flatMap((seed) =>
        [0, 4].map((step) => ({ cell: name, seed, step, value: 0.1 * i + 0.01 * seed * step })),
      ),
    ),
  })),
  unfinished: { n: 1, of: 27 },
};

describe("an ablation's folder", () => {
  const report = () => {
    const path = written("ablation", "ablation.json", ablation);
    writeJson(join(path, "plan.json"), { what: "train", seeds: [1, 2, 3] });
    return gatherReport(path);
  };

  test("gives its table, what failed, and curves with the base in each chart", () => {
    const { kind, partial, headline, facts, figures } = report();
    expect({ kind, partial, facts }).toEqual({
      kind: "ablation",
      partial: ["1 of 27 cells and seeds are not done", "1 cell and seed failed"],
      facts: [
        { name: "cells", value: "training runs" },
        { name: "seeds", value: "1, 2, 3" },
        { name: "note", value: "a note" },
      ],
    });
    expect(headline.join(" ")).toBe(
      "em on dev (greedy): base 0.250. Different beyond noise, of 2 cells: better +0.667.",
    );
    expect(figures.map(({ id, range, curves }) => [id, range, curves.length, curves[0]?.name])).toEqual([
      ["curve-EM-dev-greedy", "share", 7, "base"],
      ["curve-EM-dev-greedy-2", "share", 3, "base"],
      ["curve-training-reward", "free", 7, "base"],
      ["curve-training-reward-2", "free", 3, "base"],
    ]);
    expect(figures[0]?.curves[0]?.points[1]).toMatchObject({ step: 4, n: 2, low: 0.04, high: 0.08 });
  });

  test("in every form, with the differences on an axis that shows 0", () => {
    const found = report();
    const page = reportFormats.html.render(found);
    expect(all(page, /<h2 id="([^"]+)"/g)).toEqual(["result", "cells", "curves", "facts"]);
    expect(page).toContain("&lt;none&gt;");
    expect(page).toContain(
      'aria-label="Chart of the difference of em from the base by cell with 95 % intervals',
    );
    expect(page).toContain("<title>better, cell minus base: +0.667 [");
    expect(page).not.toMatch(/undefined|NaN|<none>|<script|https?:\/\//);
    const text = reportFormats.md.render(found);
    expect(text).toContain("| better | 0.917 | +0.667 \\[");
    expect(text).toMatch(/\| same-1 \| out of memory \| 2 \|/);
    const lines = reportFormats.csv.render(found).trimEnd().split("\r\n");
    expect(lines[0]).toBe(csvHead);
    const better = ablation.rows[1]?.against;
    expect(lines).toContain(
      `ablation,"better, dev, greedy",difference,,20,${better?.difference},${better?.low},${better?.high}`,
    );
    const { curves: _, ...whole } = ablation;
    expect((JSON.parse(reportFormats.json.render(found)) as Report).ablation).toEqual(
      JSON.parse(JSON.stringify(whole)),
    );
  });

  test("one seed claims nothing; nothing measured says so", () => {
    const rows = compareCells([cell("base", 5), cell("better", 18)], { metric: "em", trained: true });
    const one = gatherReport(written("one", "ablation.json", { ...ablation, rows, curves: [] }));
    expect(one.headline[1]).toMatch(/^One seed says nothing/);
    const none = gatherReport(written("none", "ablation.json", { ...ablation, rows: [], curves: [] }));
    expect(none.headline).toEqual(["No cell has been measured yet."]);
    expect(reportFormats.html.render(none)).not.toContain('id="result"');
  });
});

describe("a folder of search-value", () => {
  const right = (n: number, searches: number) => answered(20, (q) => q < n).map((r) => ({ ...r, searches }));
  const value = searchValue(
    { name: "engine", records: right(16, 2) },
    [
      { name: "off", records: right(4, 0) },
      { name: "empty", budget: 0, records: right(4, 1) },
      { name: "budget-1", budget: 1, records: right(10, 2) },
    ],
    { most: 3, normalizer: "squad" },
  );
  const values = [{ title: "dev, greedy, step 4", benchmark: "dev", mode: "greedy", value }];

  test("says what search is worth, and draws exact match by budget and by searches made", () => {
    const found = gatherReport(written("value", "search-value.json", { policy: "run x", values }));
    expect(found).toMatchObject({
      kind: "search-value",
      name: "value",
      facts: [{ name: "policy", value: "run x" }],
    });
    expect(found.headline.join(" ")).toMatch(
      /^Exact match on dev \(greedy, 20 questions\) is 0\.800 \[.*\] with the engine and 0\.200 \[.*\] without search\. Search is worth \+0\.600 \(p after Holm 0\.\d+\)\.$/,
    );
    expect(
      found.figures.map(({ id, axis, curves }) => [
        id,
        axis,
        curves.map(({ name, points }) => [name, points.length]),
      ]),
    ).toEqual([
      [
        "budgets-0",
        "searches answered",
        [
          ["budget", 2],
          ["engine", 2],
        ],
      ],
      ["searches-made-0", "searches made", [["engine", 1]]],
    ]);
    const page = reportFormats.html.render(found);
    expect(all(page, /<h2 id="([^"]+)"/g)).toEqual(["result", "searches", "facts"]);
    expect(page).toContain(">searches answered</text>");
    expect(page).not.toMatch(/undefined|NaN|>step<\/text>/);
    expect(resultsOf(found)[0]?.table.rows.map(([first]) => first?.text)).toEqual([
      "off",
      "empty",
      "budget-1",
      "engine",
    ]);
    expect(reportFormats.md.render(found)).toContain("| searches answered | budget | engine |");
    expect(reportFormats.csv.render(found)).toContain('search-value,"off, dev, greedy",EM,,20,0.2,');
  });

  test("a file that is damaged is one error", () => {
    const path = written("damaged", "search-value.json", { values: [{ title: "x" }] });
    expect(() => gatherReport(path)).toThrow(
      /search-value\.json: the file is damaged, or of another version/,
    );
    writeFileSync(join(path, "search-value.json"), "{");
    expect(() => gatherReport(path)).toThrow(/cannot read the file/);
  });
});
