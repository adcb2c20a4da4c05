import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeFileAtomic } from "../../core/files.ts";
import type { Metrics, StepMetrics } from "../../track/run-db.ts";
import { openRunDb } from "../../track/run-db.ts";
import { reportFormats } from "./formats.ts";
import { gatherReport } from "./gather.ts";
import { fullScale, teamCost } from "./team-cost.ts";
import { driverRows, hoursText, teamTables } from "./team-tables.ts";
import { toyStep, writeToyRun } from "./testing.ts";

/** A step of ten episodes at 100 sampled tokens a second. */
const step = (n: number, over: Metrics = {}): StepMetrics => ({
  phase: "rl",
  step: n,
  metrics: {
    ...{ episodes: 10, infra_frac: 0, policy_tokens: 30, sampled_tokens: 300, total_tokens: 90 },
    ...{ tokens_per_second: 100, seconds_rollout: 1, seconds_update: 2, seconds_total: 60 * n },
    ...{ "team/episodes": 10, "team/rounds": 1.5, "team/catches": 0.3, "team/misses": 0.2 },
    ...{ "team/false_alarms": 0.1, "team/rejection_rate": 0.5, "team/unparsable_rate": 0 },
    ...{ "team/calls/planner": 1.5, "team/tokens/planner": 12 },
    ...{ "team/calls/verifier": 1, "team/tokens/verifier": 17 },
    ...over,
  },
});

test("tokens and calls by role, over all steps, and what no call explains", () => {
  const cost = teamCost([step(1), step(2, { "team/calls/verifier": 3, "team/rejection_rate": 0.9 })]);
  expect(cost).toMatchObject({
    steps: 2,
    episodes: 20,
    sampledTokens: 600,
    tokensPerEpisode: 30,
    otherTokens: 20,
  });
  expect(cost?.roles).toEqual([
    {
      ...{ role: "planner", calls: 30, callsPerEpisode: 1.5, tokens: 240, tokensPerCall: 8 },
      share: expect.closeTo(240 / 580, 10),
    },
    {
      ...{ role: "verifier", calls: 40, callsPerEpisode: 2, tokens: 340, tokensPerCall: 8.5 },
      share: expect.closeTo(340 / 580, 10),
    },
  ]);
  expect(cost).toMatchObject({ catches: 6, misses: 4, falseAlarms: 2 });
  // Thirty of the forty calls came in the step of 0.9.
  expect(cost?.rejectionRate).toBeCloseTo((10 * 0.5 + 30 * 0.9) / 40, 10);
});

test("without a verifier there is no rate, without a team no account", () => {
  const alone = step(1);
  const metrics = Object.fromEntries(
    Object.entries(alone.metrics).filter(([name]) => !/verifier|rate/.test(name)),
  );
  expect(teamCost([{ ...alone, metrics }])).not.toHaveProperty("rejectionRate");
  const researcher = Object.fromEntries(
    Object.entries(metrics).filter(([name]) => !name.startsWith("team/")),
  );
  expect(teamCost([{ ...alone, metrics: researcher }])).toBeUndefined();
  expect(teamCost([{ ...alone, phase: "sft" }])).toBeUndefined();
});

test("hours, duplicate tasks and cached episodes, each where it is known", () => {
  const cost = teamCost([step(1), step(2)], {
    tasks: { sampled: 8, different: 6 },
    cache: { tried: 40, valid: 30 },
    seconds: 7200,
  });
  expect(cost).toMatchObject({
    hours: { total: 2, sampling: 2 / 3600, updating: 4 / 3600 },
    tasks: { duplicateRate: 0.25 },
    cache: { rate: 0.75 },
  });
  const bare = teamCost([step(1)], { tasks: { sampled: 0, different: 0 }, cache: { tried: 0, valid: 0 } });
  expect(bare).not.toHaveProperty("tasks");
  expect(bare).not.toHaveProperty("cache");
  expect(bare?.hours.total).toBeCloseTo(60 / 3600, 10); // the run's own clock
  expect(driverRows(cost!).map(([name]) => name)).toEqual(
    expect.arrayContaining(["duplicate tasks", "cached episodes that held", "verdicts that rejected"]),
  );
});

test("the full scale is 480 million tokens, at the speed that was measured and at the prices that are given", () => {
  const prices = { currency: "USD", promptPerMillionTokens: 1, completionPerMillionTokens: 10 };
  const [full, own] = teamCost([step(1), step(2, { tokens_per_second: 50 })], { prices })?.projections ?? [];
  const { tasks, trajectoriesPerTask, tokensPerTrajectory } = fullScale;
  expect(tasks * trajectoriesPerTask * tokensPerTrajectory).toBe(480e6);
  expect(full).toMatchObject({ trajectories: 120_000, tokens: 480e6 });
  // 600 tokens in 3 + 6 seconds.
  expect(full?.hours).toBeCloseTo(480e6 / (600 / 9) / 3600, 6);
  // Two tokens are read for each that is written.
  expect(full?.cost).toEqual({ amount: expect.closeTo(480 * (10 + 2), 6), currency: "USD" });
  expect(own).toMatchObject({ tokensPerTrajectory: 30, tokens: 3.6e6 });
  const untimed = teamCost([step(1, { tokens_per_second: 0 })])?.projections[0];
  expect(untimed).not.toHaveProperty("hours");
  expect(untimed).not.toHaveProperty("cost");
  expect([hoursText(0.1234), hoursText(64.2)]).toEqual(["0.123\u00a0h", "64\u00a0h (2.7\u00a0days)"]);
});

const parent = mkdtempSync(join(tmpdir(), "forager-team-report-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

test("a team's report has the account, its detectors and its stages in every form; a researcher's has none", () => {
  const folder = join(parent, "run");
  writeToyRun(folder);
  expect(gatherReport(folder)).not.toHaveProperty("team");
  const db = openRunDb(folder);
  for (const n of [4, 5]) {
    const { metrics, ...rest } = toyStep(n, [1, 1]);
    const hack = { "hack/rubberStamp": n / 10, "hack/rubberStamp_episodes": 2 };
    db.commit({ ...rest, metrics: { ...metrics, ...step(n).metrics, ...hack } });
  }
  const sha256 = { planner: "a".repeat(64), verifier: "b".repeat(64) };
  db.event("rl", 0, "stage", { index: 0, learn: ["verifier"], sha256 });
  db.event("rl", 5, "hack", { name: "rubberStamp" });
  db.close();
  mkdirSync(join(folder, "exports"));
  const summary = JSON.stringify({ perturbed: 4, valid: 3, rows: 9 });
  writeFileAtomic(join(folder, "exports/cache.jsonl.summary.json"), summary);

  const report = gatherReport(folder);
  expect(report.team).toMatchObject({
    cost: { cache: { rate: 0.75 }, tasks: { sampled: 16, different: 1 }, hours: { total: 75 / 3600 } },
    hacks: [{ name: "rubberStamp", highest: 0.5, at: 5, last: 0.5, found: 1 }],
    stages: [{ from: 1, learn: ["verifier"], sha256 }],
  });
  expect(report.figures.filter(({ section }) => section === "team").map(({ id }) => id)).toEqual(
    expect.arrayContaining(["team-verdicts", "team-tokens", "team-hacks"]),
  );
  const [html, md] = [reportFormats.html.render(report), reportFormats.md.render(report)];
  for (const { caption } of teamTables(report.team!)) {
    expect(html).toContain(caption.replaceAll("'", "&#39;"));
    expect(md).toContain(caption);
  }
  expect(html).toContain('<h2 id="team">Team</h2>');
  expect(reportFormats.csv.render(report)).toContain("team,planner,tokens,,,240");
  expect(JSON.parse(reportFormats.json.render(report))).toMatchObject({ team: { cost: { episodes: 20 } } });
});
