import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Task } from "../datasets/task.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { openEpisodes } from "../track/export/store.ts";
import type { StoredTrajectory } from "../track/run-db.ts";
import { type CacheOptions, growCache } from "./cache-episodes.ts";
import { openFinishedRun } from "./finished-run.ts";
import type { Perturb } from "./perturb.ts";
import type { Project } from "./testing/toy-project.ts";
import { rowsOf, type ToyTeam, toyTeam } from "./testing/toy-team.ts";

let team: ToyTeam;
let project: Project;
let run = "";
let stored: readonly StoredTrajectory[] = [];

beforeAll(async () => {
  team = await toyTeam();
  ({ project, run, stored } = team);
}, 60_000);
afterAll(() => team?.close());

describe("forager export cache", () => {
  test("new tasks from verified episodes: the world's answer, where each is from, what changed, and the rates", async () => {
    const out = project.at("cache.jsonl");
    const asked = ["export", "cache", run, "--perturb", "2", "--json"];
    const { code, stderr, events } = await project.forager(...asked, "--out", out);
    expect(code, stderr).toBe(0);
    const right = stored.filter(({ parts, outcome }) => parts.exactMatch === 1 && outcome === "answered");
    const report = events.at(-1)!;
    const { valid, rows: n, verified } = report as { valid: number; rows: number; verified: number };
    expect(verified).toBe(right.length);
    const rows = await rowsOf(out);
    expect(rows).toHaveLength(n);
    const dropped = Object.values(report.invalid as Record<string, number>).reduce((a, b) => a + b, 0);
    expect(valid + dropped).toBe(2 * verified);
    expect(report.cacheValidityRate).toBe(valid / (2 * verified));
    expect(report.duplicateTaskRate).toBeGreaterThanOrEqual(0);
    expect(JSON.parse(readFileSync(`${out}.summary.json`, "utf8"))).toMatchObject({
      verified,
      valid,
      rows: n,
    });
    const questions = new Set(stored.map(({ question }) => question));
    for (const { provenance, input_ids, assistant_masks } of rows) {
      const { question_id, golden_answers, from, changed, question } = provenance as {
        [key: string]: unknown;
        question_id: string;
        from: { question_id: string; member: number };
        changed: { before: string; after: string };
      };
      expect(golden_answers).toEqual(team.setup.world!.planned(question_id).task.goldenAnswers);
      expect(provenance.prediction).toBe((golden_answers as string[])[0]);
      expect(questions.has(question as string)).toBe(false);
      expect(right.map(({ taskId }) => taskId)).toContain(from.question_id);
      expect(question_id.replace(changed.after, changed.before)).toBe(from.question_id);
      expect(provenance.verified_by).toBe("demonstrators (careful); exact match");
      expect(assistant_masks).toHaveLength(input_ids.length);
      expect(provenance).not.toHaveProperty("version");
    }
    const dry = await project.forager(...asked, "--out", project.at("dry.jsonl"), "--dry-run");
    expect(dry.events.at(-1)).toMatchObject({ ...report, out: expect.any(String), dryRun: true });
    expect([existsSync(project.at("dry.jsonl")), existsSync(project.at("dry.jsonl.summary.json"))]).toEqual([
      false,
      false,
    ]);
  });

  test("its rows are read as trajectories", async () => {
    const out = project.at("cache.jsonl");
    const { code, stderr, events } = await project.forager(
      ...[
        "sft",
        project.at("team.yaml"),
        `run.dir=${project.at("cached")}`,
        "sft.steps=1",
        "sft.slots=512",
        "--json",
      ],
      `sft.source={ kind: trajectories, path: ${out} }`,
    );
    expect(code, stderr).toBe(0);
    expect(events.filter(({ event }) => event === "step")).toHaveLength(1);
  });

  test("what does not hold is dropped by its cause, and of equal questions the first stays", async () => {
    const finished = openFinishedRun(run);
    const store = openEpisodes(run);
    const [right] = stored.filter(({ parts }) => parts.exactMatch === 1);
    const other = team.setup.world!.planned(right!.taskId).task;
    const made = (k: number, question: string) => ({
      task: { ...other, id: `new ${k}`, question },
      changed: { what: "wording" as const, before: "", after: "" },
    });
    let asked = 0;
    const answers = ["right", "wrong", "rejected", "turn_limit", "infra(model)"];
    const perturb: Perturb = async (task) => {
      const k = asked++;
      if (k === 5) return { ...made(k, task.question.toUpperCase()) }; // the same as was asked
      if (k === 6) return "not rewritten";
      return made(k, `what is ${k} ?`);
    };
    const replay = {
      verifiedBy: "nobody",
      async play(task: Task, at: number): Promise<Trajectory> {
        const kind = answers[at]!;
        const trajectory = await team.play(other, 0);
        const { team: account, ...ending } = trajectory.ending!;
        const verdicts = [{ round: 1, kind: kind === "rejected" ? ("fail" as const) : ("pass" as const) }];
        const told = { ...account!, verdicts, answer: kind === "wrong" ? "nobody" : task.goldenAnswers[0]! };
        const outcome = ["turn_limit", "infra(model)"].includes(kind) ? (kind as "turn_limit") : "answered";
        return {
          ...trajectory,
          task: { ...task, question: other.question },
          outcome,
          ending: { ...ending, outcome, team: told },
        };
      },
    };
    const o: CacheOptions = {
      ...{
        filters: { fromStep: 2, perQuestion: 1 },
        perturb: 7,
        form: "openai",
        ids: true,
        output: team.output,
      },
      signal: new AbortController().signal,
      ...{ out: project.at("causes.jsonl"), dryRun: false },
    };
    const only = {
      ...store,
      *candidates() {
        for (const each of store.candidates()) if (each.row > 0 && each.taskId === right!.taskId) yield each;
      },
    };
    const report = await growCache(
      { run: finished, setup: team.setup, store: only },
      { perturb, replay, draws: 1 },
      o,
    );
    store.close();
    expect(report).toMatchObject({ verified: 1, perturbed: 7, valid: 1 });
    expect(report.invalid).toEqual({
      duplicate: 1,
      "not rewritten": 1,
      "wrong answer": 1,
      "rejected by the verifier": 1,
      "not accepted within the rounds": 1,
      "infra(model)": 1,
    });
    expect(report.duplicatePerturbationRate).toBeCloseTo(1 / 7);
  });

  test.each([
    [["--perturb", "0"], /--perturb[\s\S]*1 or more/],
    [["--model", "m"], /Give both, or neither/],
    [["--min-reward", "9"], /no episode was verified/],
    [["--habits", "lazy"], /unknown demonstrators/],
  ])("%j is the user's mistake", async (words, message) => {
    const { code, stderr } = await project.forager("export", "cache", run, "--dry-run", ...words);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
