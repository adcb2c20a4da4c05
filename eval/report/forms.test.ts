import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { csvHead, reportCsv } from "./csv.ts";
import { reportFormats } from "./formats.ts";
import { gatherReport } from "./gather.ts";
import { escapeMarkdown, reportMarkdown } from "./markdown.ts";
import { reportPage } from "./page.ts";
import type { Report } from "./report.ts";
import { parseResult } from "./stored-evaluations.ts";
import { toyRecords, writeEvaluation, writeToyRun } from "./testing.ts";

let folder = "";
let report: Report;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-forms-"));
  writeToyRun(join(folder, "run"));
  report = gatherReport(join(folder, "run"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Card {
  base_model?: string;
  partial?: boolean;
  "model-index"?: {
    name: string;
    results: {
      task: { type: string };
      dataset: { name: string; type: string };
      metrics: { type: string; value: number }[];
    }[];
  }[];
}
const cardOf = (text: string) => parse(/^---\n([\s\S]*?)\n---\n/.exec(text)?.[1] ?? "") as Card;

describe("the model card", () => {
  test("has the last evaluation of each benchmark and mode as Hugging Face reads it", () => {
    const card = cardOf(reportMarkdown(report));
    const last = report.evaluations.at(-1);
    expect(card.base_model).toBe("Base-1B");
    expect(card["model-index"]).toHaveLength(1);
    const [result] = card["model-index"]?.[0]?.results ?? [];
    expect(result).toMatchObject({
      task: { type: "question-answering" },
      dataset: { name: "dev", type: "dev" },
    });
    expect(result?.metrics.map(({ type, value }) => [type, value])).toEqual([
      ["exact_match", last?.em],
      ["exact_match", last?.emAt[2]?.em],
      ["f1", last?.f1],
      ["cover_em", last?.coverEm],
    ]);
  });

  test("leaves out what is unfinished, or no measurement, and says that it is partial", () => {
    const [first, last] = report.evaluations;
    if (!first || !last) throw new Error("two evaluations");
    const evaluations = [first, { ...last, partial: "half of it" }];
    const card = cardOf(reportMarkdown({ ...report, evaluations, partial: ["half of it"] }));
    expect(card.partial).toBe(true);
    expect(card["model-index"]?.[0]?.results.map(({ metrics }) => metrics[0]?.value)).toEqual([first.em]);
    const none = cardOf(reportMarkdown({ ...report, evaluations: [{ ...first, valid: false }] }));
    expect(none).not.toHaveProperty("model-index");
  });

  test("survives names that are YAML", () => {
    const name = "a: b\n---\n- '\"{ #";
    expect(cardOf(reportMarkdown({ ...report, name }))["model-index"]?.[0]?.name).toBe(name);
  });
});

describe("Markdown", () => {
  test("has the sections, the table and the episodes turn by turn", () => {
    const text = reportMarkdown(report);
    const body = text.slice(text.indexOf("\n---\n"));
    expect([...body.matchAll(/^##? (.*)$/gm)].map(([, title]) => title)).toEqual([
      ...["toy: training run", "Before and after", "Evaluations", "Exact match", "Reward and its parts"],
      ...["Groups with and without signal", "What the policy does", "Warm-up"],
      ...["One question before and after", "What made it"],
    ]);
    expect(text).toContain(
      "| all | 40 | 0.300 \\[0.181, 0.454\\] | 0.900 \\[0.769, 0.960\\] | +0.600 apart |",
    );
    expect(text).toContain("turn 2, policy\n\n```text\n<answer> Ada Lovelace </answer>\n```");
  });

  test("a table row has as many cells as its head, whatever they hold", () => {
    const rows = reportMarkdown(report)
      .split("\n\n")
      .filter((block) => block.startsWith("| "));
    expect(rows.length).toBeGreaterThan(5);
    for (const block of rows)
      expect(new Set(block.split("\n").map((line) => line.split(/(?<!\\)\|/).length)).size).toBe(1);
  });

  test("escaped text holds no markup", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."a \n|<>`*_[]\\#-+=1.&~") }), (text) => {
        const escaped = escapeMarkdown(text);
        expect(escaped).not.toMatch(/\n/);
        const bare = escaped.replace(/\\[\\`*_[\]<>|~&$#+\-=.)]/g, "");
        expect(bare).not.toMatch(/[\\`*_[\]<>|~&]/);
        expect(escaped).not.toMatch(/^\s*([#+-]|\d+\.)(\s|$)/);
      }),
    );
  });

  test("no text can close the fence around it", () => {
    const records = toyRecords(2, 1).map((record) => ({
      ...record,
      segments: [{ source: "policy" as const, text: "````\n# not a heading\n<b>" }],
    }));
    writeEvaluation(join(folder, "fence"), records, { step: 0 });
    const text = reportMarkdown(gatherReport(join(folder, "fence")));
    expect(text).toContain("`````text\n````\n# not a heading\n<b>\n`````");
  });
});

describe("CSV", () => {
  const rows = (text: string) =>
    text
      .trimEnd()
      .split("\r\n")
      .map((line) => line.split(","));

  test("has every point of every curve and every rate", () => {
    const all = rows(
      reportCsv(report).replaceAll(/"([^"]*)"/g, (_, quoted: string) => quoted.replaceAll(",", ";")),
    );
    expect(all[0]?.join(",")).toBe(csvHead);
    expect(new Set(all.map((row) => row.length))).toEqual(new Set([8]));
    const points = report.figures.flatMap(({ curves }) => curves.flatMap((curve) => curve.points));
    const figures = new Set(report.figures.map(({ id }) => id));
    expect(all.filter(([table = ""]) => figures.has(table))).toHaveLength(points.length);
    const last = report.evaluations.at(-1);
    expect(all).toContainEqual([
      ...["evaluation", "dev; greedy", "EM all", "3", "40"],
      ...[`${last?.em}`, `${last?.low}`, `${last?.high}`],
    ]);
  });

  test("quotes, and lets no text be a formula", () => {
    const curves = [{ name: '=HYPERLINK("x"),\n', kind: "line" as const, points: [{ step: 1, value: -2 }] }];
    const [figure] = report.figures;
    if (!figure) throw new Error("a figure");
    const text = reportCsv({ ...report, evaluations: [], groups: [], figures: [{ ...figure, curves }] });
    expect(text).toBe(`${csvHead}\r\nexact-match,"'=HYPERLINK(""x""),\n",,1,,-2,,\r\n`);
  });
});

test("every form begins with the mark by which it is known", () => {
  for (const { render, mark } of Object.values(reportFormats))
    expect(render(report).startsWith(mark)).toBe(true);
});

test("JSON is the whole report", () => {
  expect(JSON.parse(reportFormats.json.render(report))).toEqual(JSON.parse(JSON.stringify(report)));
});

test("k samples and cost are told where they are there, in every form; a stored result keeps them", () => {
  const [first] = report.evaluations;
  if (!first) throw new Error("an evaluation");
  const samples = {
    ...first,
    atK: { 2: { n: 4, avg: 0.5, pass: 0.625, all: 0.375, maj: 0.51 } },
    recall: { n: 3, mean: 0.75, all: 0.25 },
    cost: { currency: "USD", total: 1.5, perQuestion: 0.005 },
  };
  expect(parseResult(JSON.parse(JSON.stringify(samples)), "x")).toMatchObject({ cost: samples.cost });
  const whole = { ...report, evaluations: [samples] };
  const markdown = reportMarkdown(whole);
  expect(markdown).toContain("| avg@k | pass@k | pass^k | maj@k |");
  expect(markdown).toContain("| 2 | 4 | 0.500 | 0.625 | 0.375 | 0.510 |");
  expect(markdown).toContain("1.50 USD 0.0050 a question");
  const page = reportPage(whole);
  for (const text of ["pass^k", "1.50 USD", "0.0050 a question"]) expect(page).toContain(text);
  const csv = reportCsv(whole);
  expect(csv).toContain(`cost USD,${samples.step},${samples.n},1.5`);
  expect(csv).toContain(`all of them found,${samples.step},3,0.25`);
  expect(reportMarkdown(report)).not.toMatch(/cost|avg@k/);
  expect(reportPage(report)).not.toContain("a question</");
});
