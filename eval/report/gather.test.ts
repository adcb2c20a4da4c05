import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openRunDb } from "../../track/run-db.ts";
import { wilson } from "../wilson.ts";
import { gatherReport } from "./gather.ts";
import type { Report } from "./report.ts";
import { toyRecord, toyRecords, toyStep, writeEvaluation, writeJson, writeToyRun } from "./testing.ts";

let folder = "";
const at = (name: string) => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-report-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const curve = (report: Report, figure: string, name: string) =>
  report.figures.find(({ id }) => id === figure)?.curves.find((each) => each.name === name)?.points ?? [];
const figureOf = (report: Report, title: string) =>
  report.figures.find((each) => each.title === title)?.id ?? "";

describe("a finished run", () => {
  let run = "";
  let made: ReturnType<typeof writeToyRun>;
  let report: Report;
  beforeAll(() => {
    run = mkdtempSync(join(tmpdir(), "forager-report-"));
    made = writeToyRun(run, {
      alarm: "grad_norm 12: the gradient norm is 10 or more",
      intervention: "stableRestart: format failures jumped",
    });
    report = gatherReport(run);
  });
  afterAll(() => rmSync(run, { recursive: true, force: true }));

  test("its numbers are those it recorded", () => {
    const { steps, results } = made;
    expect(report).toMatchObject({ kind: "run", name: "toy", partial: [], baseModel: "Base-1B" });
    expect(report.evaluations).toEqual(results);
    const metric = (name: string) => steps.map(({ step, metrics }) => ({ step, value: metrics[name] }));
    for (const [figure, name, key] of [
      ["exact-match", "training", "em"],
      ["reward", "reward", "reward"],
      [figureOf(report, "answers"), "answers", "reward/answers"],
      ["entropy", "all", "entropy"],
      ["no-spread", "all right", "zero_std_frac_all_right"],
      ["policy-length", "all episodes", "policy_tokens"],
      ["searches-by-hops", "1 hop", "searches/hops_1"],
    ] as const)
      expect(
        curve(report, figure, name).map(({ step, value }) => ({ step, value })),
        name,
      ).toEqual(metric(key));
    expect(curve(report, "exact-match", "dev, greedy")).toEqual(
      results.map(({ step, em, low, high, n }) => ({ step, value: em, low, high, n })),
    );
    expect(curve(report, "warm-up", "loss")).toEqual([{ step: 1, value: 2.5 }]);
  });

  test("bands: Wilson's over groups for shares, the clustered error for the rest, none where nothing is stored", () => {
    // Four groups, em 2/8.
    expect(curve(report, "exact-match", "training")[0]).toEqual({
      step: 1,
      value: 0.25,
      ...wilson(1, 4),
      n: 4,
    });
    // The count of answers is 2, 1, 2, 1 by group: mean 1.5, standard error 0.5 · sqrt(4/3) / 2.
    const half = 1.959963984540054 * 0.25 * Math.sqrt(4 / 3);
    const answers = curve(report, figureOf(report, "answers"), "answers")[0];
    expect(answers?.low).toBeCloseTo(1.5 - half, 12);
    expect(answers?.high).toBeCloseTo(1.5 + half, 12);
    expect(curve(report, "entropy", "all")[0]).not.toHaveProperty("low");
  });

  test("groups by cause, over all steps", () => {
    expect(report.groups.map(({ verdict, groups, share }) => [verdict, groups, share.n])).toEqual([
      ["kept", 5, 12],
      ["allRight", 4, 12],
      ["allWrong", 3, 12],
    ]);
  });

  test("before and after: the rates, what each question became, and a question that became right", () => {
    const [comparison] = report.comparisons;
    expect(comparison?.rows[0]).toMatchObject({
      before: { em: made.results[0]?.em },
      after: { em: 0.9 },
      apart: true,
    });
    expect(comparison?.flips).toEqual({ gained: 24, lost: 0, bothRight: 12, bothWrong: 4 });
    const { example, headline } = report;
    expect(example?.episodes.map(({ question, right, label }) => [question, right, label])).toEqual([
      ["who wrote book 14?", false, "step 0"],
      ["who wrote book 14?", true, "step 3"],
    ]);
    expect(headline.join(" ")).toMatch(
      /from 0\.300 .* to 0\.900 .*: \+0\.600\. The 95 % intervals do not touch\./,
    );
  });

  test("reading leaves the folder as it was", () => {
    const before = readdirSync(run, { recursive: true }).sort();
    const bytes = readFileSync(join(run, "run.db"));
    expect(gatherReport(run)).toEqual(report);
    expect(readdirSync(run, { recursive: true }).sort()).toEqual(before);
    expect(readFileSync(join(run, "run.db")).equals(bytes)).toBe(true);
  });

  test("alarms of one subject are one; an intervention stands by itself", () => {
    expect(report.alarms).toEqual([
      { text: "grad_norm 12: the gradient norm is 10 or more", steps: 2, first: 1, last: 2 },
      { text: "intervention stableRestart: format failures jumped", steps: 1, first: 2, last: 2 },
    ]);
  });
});

describe("another run", () => {
  test("a change that the questions cannot show is called noise", () => {
    writeToyRun(at("run"), { evaluations: false });
    for (const [step, right] of [
      [0, 20],
      [3, 22],
    ] as const)
      writeEvaluation(at(`run/evals/dev-${step}-greedy`), toyRecords(40, right), { step });
    expect(gatherReport(at("run")).headline[1]).toMatch(/overlap.*a difference below about 0\.313 is noise/);
  });

  test("is read while another process writes in it", () => {
    writeToyRun(at("run"), { status: "", evaluations: false });
    const writer = openRunDb(at("run"));
    writer.commit(toyStep(4, [1, 2]));
    const report = gatherReport(at("run"));
    writer.commit(toyStep(5, [2, 2]));
    writer.close();
    expect(curve(report, "exact-match", "training").map(({ step }) => step)).toEqual([1, 2, 3, 4]);
    expect(curve(gatherReport(at("run")), "exact-match", "training")).toHaveLength(5);
  });

  test("without evaluations it says so and has no comparison", () => {
    writeToyRun(at("run"), { evaluations: false });
    const report = gatherReport(at("run"));
    expect(report).toMatchObject({ evaluations: [], comparisons: [], partial: [] });
    expect(report.example).toBeUndefined();
    expect(report.headline).toEqual([
      "Exact match of training's own episodes was 0.250 at step 1 and 0.875 at step 3.",
      expect.stringContaining("There is no evaluation"),
    ]);
  });

  test("copied without its evaluations' folders it has their numbers from run.db, and no episode", () => {
    const { results } = writeToyRun(at("run"));
    rmSync(at("run/evals"), { recursive: true });
    const report = gatherReport(at("run"));
    expect(report.evaluations).toEqual(results);
    expect(report.comparisons).toHaveLength(1);
    expect(report.comparisons[0]).not.toHaveProperty("flips");
    expect(report.example).toBeUndefined();
  });
});

describe("partial", () => {
  test.each([
    ["interrupted", undefined, "the run was interrupted after 3 steps"],
    ["failed", "the disk is full", "the run failed after 3 steps: the disk is full"],
    ["", undefined, "the run is not finished, or was killed: 3 steps"],
  ])("a run that is %s", (status, error, said) => {
    writeToyRun(at("run"), { status, ...(error === undefined ? {} : { error }) });
    const text = readFileSync(at("run/config.yaml"), "utf8");
    writeFileSync(at("run/config.yaml"), text.replace("steps: 3", "steps: 9"));
    expect(gatherReport(at("run")).partial).toEqual([said.replace("3 steps", "3 of 9 steps")]);
  });

  test("an evaluation in progress is measured on what it has, marked, and in no comparison", () => {
    writeToyRun(at("run"));
    writeEvaluation(at("run/evals/dev-9-greedy"), toyRecords(5, 5), {
      step: 9,
      questions: 40,
      unfinished: true,
    });
    const report = gatherReport(at("run"));
    expect(report.partial).toEqual(["dev, greedy, step 9: 5 of 40 episodes"]);
    expect(report.evaluations.at(-1)).toMatchObject({ step: 9, n: 5, em: 1, partial: report.partial[0] });
    expect(report.comparisons.map(({ steps }) => steps)).toEqual([[0, 3]]);
  });

  test("a run in its warm-up", () => {
    writeToyRun(at("run"), { status: "", evaluations: false, warmUpOnly: true });
    const report = gatherReport(at("run"));
    expect(report.figures.map(({ id }) => id)).toEqual(["warm-up"]);
    expect(report.headline).toEqual(["Only the warm-up has been recorded; there is no evaluation."]);
    expect(report.partial).toEqual(["the run is not finished, or was killed: 0 of 3 steps"]);
  });
});

describe("an evaluation", () => {
  test("alone: its numbers, an episode of each kind, no curve", () => {
    const result = writeEvaluation(at("dev"), toyRecords(10, 7), { step: 4 });
    const report = gatherReport(at("dev"));
    expect(report).toMatchObject({ kind: "evaluation", evaluations: [result], figures: [], comparisons: [] });
    expect(report.example?.episodes.map(({ right, question }) => [right, question])).toEqual([
      [true, "who wrote book 2?"],
      [false, "who wrote book 8?"],
    ]);
    expect(report.headline[0]).toMatch(/^Exact match on dev \(greedy, 10 questions\) is 0\.700/);
  });

  test("a folder of several, as `forager eval --out` leaves it, with what it says of the policy", () => {
    writeEvaluation(at("out/dev-0-greedy"), toyRecords(10, 7), { step: 0 });
    writeEvaluation(at("out/dev-0-sampled"), toyRecords(10, 5), { step: 0, mode: "sampled" });
    writeJson(at("out/evaluation.json"), { policy: "runs/x, step 0", step: 0, evals: [] });
    mkdirSync(at("out/else"));
    const report = gatherReport(at("out"));
    expect(report.evaluations.map(({ mode, em }) => [mode, em])).toEqual([
      ["greedy", 0.7],
      ["sampled", 0.5],
    ]);
    expect(report.facts).toEqual([{ name: "policy", value: "runs/x, step 0" }]);
  });

  test("of too many failures is no measurement: it is in no curve and the headline says so", () => {
    const failed = toyRecord(9, false, { valid: false, outcome: "infra(retriever)", em: undefined as never });
    const records = [...toyRecords(5, 5), { ...failed, place: 5 }];
    writeEvaluation(at("evals/dev-0-greedy"), records, { step: 0 });
    writeEvaluation(at("evals/dev-3-greedy"), toyRecords(6, 6), { step: 3 });
    const report = gatherReport(at("evals"));
    expect(curve(report, "exact-match", "dev, greedy").map(({ step }) => step)).toEqual([3]);
    expect(report.headline).toContain("Not a measurement: too many episodes failed by infrastructure.");
  });

  test("by an earlier version, whose result said less", () => {
    const rate = { n: 10, em: 0.5, low: 0.24, high: 0.76 };
    writeJson(at("old/result.json"), { step: 1, mode: "greedy", benchmark: "dev", ...rate });
    expect(gatherReport(at("old")).evaluations[0]).toMatchObject({
      em: 0.5,
      turns: 0,
      valid: true,
      byHops: {},
    });
  });
});

test.each([
  ["nowhere", () => {}, /nothing to report on.*nothing is there/],
  ["a-file", () => writeFileSync(at("a-file"), "x"), /nothing to report on.*a file/],
  ["empty", () => mkdirSync(at("empty")), /nothing to report on.*neither/],
  ["begun", () => writeJson(at("begun/manifest.json"), {}), /an evaluation without a record/],
  ["meta", () => writeJson(at("meta/meta.json"), {}), /the run has no store/],
  [
    "torn",
    () => {
      writeToyRun(at("torn"));
      writeFileSync(at("torn/run.db"), "this is no database, and long enough to look like one to SQLite");
    },
    /cannot read the run's store.*not a database/,
  ],
  [
    "bad-summary",
    () => {
      writeToyRun(at("bad-summary"));
      writeFileSync(at("bad-summary/summary.json"), "{");
    },
    /summary\.json: cannot read the file/,
  ],
  [
    "bad-result",
    () => writeJson(at("bad-result/result.json"), { em: "high" }),
    /of an evaluation's result is wrong/,
  ],
  [
    "bad-record",
    () => {
      writeEvaluation(at("bad-record"), toyRecords(2, 1), { step: 0 });
      writeFileSync(at("bad-record/records.jsonl"), '{"id": 1}\n');
    },
    /records\.jsonl:1: an evaluation record is damaged/,
  ],
] as const)("%s is one clear error", (name, make, message) => {
  make();
  expect(() => gatherReport(at(name))).toThrow(message);
});

test("a run that has recorded nothing is one clear error", () => {
  openRunDb(folder).close();
  expect(() => gatherReport(folder)).toThrow(/the run has recorded nothing yet.*Wait for its first step/);
});
