import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Report } from "../eval/report/report.ts";
import { openRunDb } from "../track/run-db.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
beforeAll(async () => {
  project = toyProject();
  const benchmark = "{ name: dev, source: { kind: jsonl, path: DIR } }".replace(
    "DIR",
    project.at("questions.jsonl"),
  );
  const { code, stderr } = await project.forager(
    ...["train", project.at("train.yaml"), "rl.steps=2", "--quiet"],
    `eval.benchmarks=[${benchmark}]`,
  );
  if (code !== 0) throw new Error(stderr);
}, 60_000);
afterAll(() => project.remove());

test("a real run: both files by default, numbers equal to those of run.db, the same again", async () => {
  const run = project.at("run");
  const { code, events, stdout } = await project.forager("report", run, "--json");
  expect(code).toBe(0);
  expect(events.at(-1)).toMatchObject({
    ...{ event: "result", kind: "run", name: "run", partial: [] },
    files: [join("DIR", "run/report.html"), join("DIR", "run/report.md")],
  });
  expect(stdout).not.toContain("undefined");
  const page = readFileSync(join(run, "report.html"), "utf8");
  expect((await project.forager("report", run, "--quiet")).stdout).toBe(
    "DIR/run/report.html\nDIR/run/report.md\n",
  );
  expect(readFileSync(join(run, "report.html"), "utf8")).toBe(page);

  const out = project.at("other");
  expect((await project.forager("report", run, "--format", "json,csv", "--out", out)).code).toBe(0);
  const report = JSON.parse(readFileSync(join(out, "report.json"), "utf8")) as Report;
  const db = openRunDb(run);
  expect(report.evaluations.map(({ step, mode, em, low }) => ({ step, mode, em, low }))).toEqual(
    db
      .events("eval")
      .map(({ data }) => data as Report["evaluations"][number])
      .map(({ step, mode, em, low }) => ({ step, mode, em, low }))
      .sort((a, b) => (a.mode < b.mode ? -1 : a.mode > b.mode ? 1 : a.step - b.step)),
  );
  const reward = report.figures.find(({ id }) => id === "reward")?.curves[0]?.points;
  expect(reward?.map(({ step, value }) => [step, value])).toEqual(
    db.metrics().map(({ step, metrics }) => [step, metrics.reward]),
  );
  db.close();
});

test("a run with a report in it goes on being a run", async () => {
  expect((await project.forager("train", "--resume", project.at("run"), "--quiet")).code).toBe(0);
});

test("an evaluation of the run alone", async () => {
  const { code, stdout } = await project.forager("report", project.at("run/evals/dev-2-greedy"));
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Exact match on dev \(greedy, 2 questions\) is /);
});

test("a run that was stopped is reported, marked partial", async () => {
  const summary = project.at("run/summary.json");
  const text = readFileSync(summary, "utf8");
  writeFileSync(summary, text.replace('"done"', '"interrupted"'));
  const { code, stderr } = await project.forager("report", project.at("run"));
  writeFileSync(summary, text);
  expect(code).toBe(0);
  expect(stderr).toContain("warning: partial: the run was interrupted after 2 of 2 steps");
  expect(readFileSync(project.at("run/report.html"), "utf8")).toContain("<b>Partial.</b>");
});

test.each([
  [["nowhere"], /error: there is nothing to report on\n {2}where {4}DIR\/nowhere/],
  [["run", "--format", "htm"], /error: there is no form `htm` of a report[\s\S]*Did you mean `html`\?/],
  [["run", "--format", "html,,md"], /error: there is no form `` of a report/],
  [["run", "--out", "questions.jsonl"], /error: a file is where a folder should be/],
])("%j is one clear error", async ([folder = "", ...rest], message) => {
  const words = rest.map((word) => (word.endsWith(".jsonl") ? project.at(word) : word));
  const { code, stderr } = await project.forager("report", project.at(folder), ...words);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(stderr.match(/error:/g)).toHaveLength(1);
});

test("a file that is no report is never overwritten", async () => {
  const note = project.write("report.md", "my own notes\n");
  const { code, stderr } = await project.forager("report", project.at("run"), "--out", project.dir);
  expect(code).toBe(2);
  expect(stderr).toMatch(/no report of Forager's is in the way/);
  expect(readFileSync(note, "utf8")).toBe("my own notes\n");
});
