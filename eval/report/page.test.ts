import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gatherReport } from "./gather.ts";
import { reportPage } from "./page.ts";
import type { Report } from "./report.ts";
import { toyRecords, writeEvaluation, writeToyRun } from "./testing.ts";

let folder = "";
let report: Report;
let page = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-page-"));
  writeToyRun(join(folder, "run"));
  report = gatherReport(join(folder, "run"));
  page = reportPage(report);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const all = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([whole, first]) => first ?? whole);
/** Every element that must be closed is, in order. */
function unbalanced(text: string): string | undefined {
  const open: string[] = [];
  for (const [, close, name = "", rest = ""] of text.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>/gi)) {
    if (["meta", "link", "br"].includes(name) || rest.endsWith("/")) continue;
    if (close === "/") {
      if (open.pop() !== name) return `</${name}>`;
    } else open.push(name);
  }
  return open.at(-1);
}

describe("the page of a run", () => {
  test("has its sections in order, each with its link", () => {
    const headings = all(page, /<h2 id="([^"]+)"/g);
    expect(headings).toEqual([
      ...[
        "answers",
        "comparison",
        "reward",
        "signal",
        "behaviour",
        "episodes",
        "evaluations",
        "warmUp",
        "facts",
      ],
    ]);
    expect(all(page, /<li><a href="#([^"]+)"/g)).toEqual(headings);
    expect(all(page, /<h3>([^<]*)<\/h3>/g)).toEqual([
      ...["Exact match", "By hops: dev, greedy", "By hops: training", "dev, greedy", "Reward", "answers"],
      ...["exactMatch", "Groups without spread, by cause", "Tokens the policy wrote", "Length of episodes"],
      ...["Turns and searches", "Entropy", "Searches by hops", "How episodes ended", "Loss of the warm-up"],
    ]);
    expect(unbalanced(page)).toBeUndefined();
  });

  test("asks for nothing: no script, no address, and a policy that forbids both", () => {
    expect(page).toContain("default-src 'none'; style-src 'unsafe-inline'");
    expect(page).not.toMatch(/<script|<img|<iframe|<object|<form|@import|url\(|https?:|src=| on\w+=/i);
    expect(all(page, /href="([^"]*)"/g).filter((to) => !/^(#\w+|data:,)$/.test(to))).toEqual([]);
  });

  test("says each chart in words and has its numbers in a table", () => {
    const figures = page.split("<figure").slice(1);
    expect(figures.length).toBeGreaterThan(10);
    for (const figure of figures) {
      const svgs = all(figure, /<svg class="chart[^>]*>/g);
      expect(svgs.length).toBeGreaterThan(0);
      for (const svg of svgs) expect(svg).toMatch(/role="img" aria-label="(Chart|Columns) of [^"]{40,}"/);
      expect(figure).toMatch(/<th scope="col">/);
    }
    expect(all(page, /<svg (?!class="chart|aria-hidden="true")/g)).toEqual([]);
    expect(page).toContain("<html lang=");
    expect(page).toContain("width=device-width");
    expect(page).toContain("prefers-color-scheme:dark");
  });

  test("shows the numbers of the run", () => {
    const [before, after] = report.evaluations;
    for (const rate of [before, after])
      expect(page).toContain(
        `${rate?.em.toFixed(3)} <small>[${rate?.low.toFixed(3)}, ${rate?.high.toFixed(3)}]</small>`,
      );
    expect(page).toContain("training, step 1: 0.250 [0.046, 0.699], n 4");
    expect(page).toContain("24 became right, 0 became wrong, 12 were right and 4 wrong both times");
  });

  test("draws no point outside its frame and no number that is none", () => {
    expect(page).not.toMatch(/NaN|Infinity|undefined/);
    for (const svg of all(page, /<svg class="chart[\s\S]*?<\/svg>/g)) {
      const [, width = 0, height = 0] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg)?.map(Number) ?? [];
      for (const x of all(svg, /cx="([^"]+)"/g).map(Number)) expect(x >= 0 && x <= width).toBe(true);
      for (const y of all(svg, /cy="([^"]+)"/g).map(Number)) expect(y >= 0 && y <= height).toBe(true);
    }
  });

  test("a whole run is not called partial, an unfinished one is", () => {
    expect(page).not.toContain("Partial.");
    const partial = reportPage({ ...report, partial: ["the run was interrupted after 3 of 9 steps"] });
    expect(partial).toContain("<b>Partial.</b> the run was interrupted after 3 of 9 steps.");
  });
});

test("the page of an evaluation alone", () => {
  writeEvaluation(join(folder, "dev"), toyRecords(10, 7), { step: 4 });
  const alone = reportPage(gatherReport(join(folder, "dev")));
  expect(all(alone, /<h2 id="([^"]+)"/g)).toEqual(["comparison", "episodes", "evaluations"]);
  expect(alone).toContain("A right answer and a wrong one");
  expect(unbalanced(alone)).toBeUndefined();
});

describe("whatever the data hold", () => {
  const bad = `"><script>alert('x')</script><img src=x onerror=alert(1)> & \u0000\u202e`;
  const hostile = (): Report => {
    const records = toyRecords(6, 2).map((record) => ({
      ...record,
      ...{ question: bad, goldenAnswers: [bad], dataset: bad, prediction: bad, outcome: bad },
      segments: record.segments.map(({ source }) => ({
        source,
        text: `${bad}<answer>${bad}</answer></article>`,
      })),
    }));
    const path = join(folder, "hostile");
    writeToyRun(path, { name: bad, status: "failed", error: bad, alarm: bad });
    for (const step of [0, 9])
      writeEvaluation(join(path, `evals/${step}`), records, { step, benchmark: `${bad} bench` });
    const { figures, ...rest } = gatherReport(path);
    return { ...rest, figures: figures.map((figure) => ({ ...figure, title: bad, caption: bad })) };
  };

  test("it is text, never markup", () => {
    const text = reportPage(hostile());
    expect(text).toContain("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
    expect(text).not.toMatch(/<script|<img/i);
    // Outside quotes nothing of it is inside a tag.
    expect(text.replaceAll(/"[^"]*"/g, '""')).not.toMatch(/<[^>]*\sonerror=/);
    expect(unbalanced(text)).toBeUndefined();
    expect(text.includes("\u0000") || text.includes("\u202e")).toBe(false);
  });

  test("names that look like our own template are left alone", () => {
    const text = reportPage({ ...report, name: "STYLE $& $1" });
    expect(text).toContain("<h1>STYLE $&amp; $1: training run</h1>");
  });
});
