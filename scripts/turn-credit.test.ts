import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readRecords } from "../datasets/records.ts";
import { turnTerms } from "../rl/turn-credit.ts";
import { openRunDb, type StoredTrajectory } from "../track/run-db.ts";
import { runDifference, runFingerprint, timeless } from "./testing/run-fingerprint.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";
import { schooled } from "./testing/toy-school.ts";

const weight = 0.7;
let project: Project;
let run = "";
let base = "";
let stored: StoredTrajectory[] = [];

const train = (name: string, ...more: string[]) =>
  project.forager(
    ...["train", project.at("train.yaml"), `model={ path: ${base} }`, `run.dir=${project.at(name)}`],
    ...["env.maxTurns=3", "rl.steps=2", "rollout.groupSize=6", "rollout.maxRows=12", "rl.slots=512"],
    ...["track.saveEvery=1", "--quiet", ...more],
  );
const storedOf = (name: string) => {
  const db = openRunDb(project.at(name));
  const all = [1, 2].flatMap((step) => db.trajectories(step));
  db.close();
  return all;
};
const metricsOf = (name: string) =>
  readFileSync(project.at(`${name}/metrics.jsonl`), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, number>);

beforeAll(async () => {
  project = toyProject();
  base = await schooled(project);
  run = project.at("run");
  const { code, stderr } = await train("run", `rl.turnCredit=${weight}`);
  if (code !== 0) throw new Error(stderr);
  stored = storedOf("run");
}, 60_000);
afterAll(() => project.remove());

test("run.db has the credit and the advantage of each turn; the metrics say what they did", () => {
  const places = new Set(stored.map(({ step, group }) => `${step} ${group}`));
  for (const place of places) {
    const members = stored.filter(({ step, group }) => `${step} ${group}` === place);
    const scored = members.map(({ sequences, turnCredits, ...each }) => {
      const task = { id: each.taskId, question: "", goldenAnswers: [], dataset: "", hops: 1 };
      const parts = { member: each.member, task, sequences, turnCredits: turnCredits! };
      return { ...parts, outcome: "answered" as const, temperature: 1, seconds: 0, parts: {}, reward: 0 };
    });
    expect(members.map(({ turnAdvantages }) => turnAdvantages)).toEqual(
      turnTerms(scored, weight).map((sequences, i) =>
        sequences.map((turns) => turns.map((term) => members[i]!.advantage! + term)),
      ),
    );
  }
  for (const metrics of metricsOf("run")) {
    const credits = stored.flatMap((t) => (t.step === metrics.step ? t.turnCredits!.flat() : []));
    expect(metrics.turn_credit).toBeCloseTo(credits.reduce((a, b) => a + b, 0) / credits.length, 12);
    expect(metrics.turn_credit_flip_frac).toBeGreaterThanOrEqual(0);
  }
  // Not a test of zeros: this policy searches, finds, and answers from what it found.
  expect(new Set(stored.flatMap(({ turnCredits }) => turnCredits!.flat())).size).toBeGreaterThan(1);
});

test("without it, and with a weight of 0, nothing of it is stored, said or different", async () => {
  await train("plain");
  await train("zero", "rl.turnCredit=0");
  const [plain, zero] = [storedOf("plain"), storedOf("zero")];
  expect(timeless(zero)).toEqual(timeless(plain));
  expect(plain.filter((each) => "turnCredits" in each || "turnAdvantages" in each)).toEqual([]);
  for (const name of Object.keys(metricsOf("plain").at(-1)!)) expect(name).not.toMatch(/^turn_credit/);
  const hashOf = (name: string) =>
    (JSON.parse(readFileSync(project.at(`${name}/summary.json`), "utf8")) as Record<string, unknown>)
      .weightsSha256;
  expect(hashOf("zero")).toBe(hashOf("plain"));
  expect(hashOf("run")).not.toBe(hashOf("plain"));
}, 60_000);

test("resumed from its first step a run ends as the whole one did", async () => {
  cpSync(run, project.at("resumed"), { recursive: true });
  for (const name of ["checkpoints/rl-000002", "summary.json"])
    rmSync(project.at(`resumed/${name}`), { recursive: true });
  const { code, stderr } = await project.forager("train", "--resume", project.at("resumed"), "--quiet");
  expect(code, stderr).toBe(0);
  expect(existsSync(project.at("resumed/checkpoints/rl-000002"))).toBe(true);
  expect(runDifference(runFingerprint(run), runFingerprint(project.at("resumed")))).toEqual([]);
}, 60_000);

interface Rescored {
  readonly turnCredit?: Record<
    "mean" | "flipped",
    { readonly before: number | null; readonly after: number | null }
  >;
}

async function rescore(...words: string[]) {
  const { code, events, stderr } = await project.forager("rescore", ...words, "--json");
  return { code, stderr, all: events.at(-1)?.all as Rescored };
}

test("rescore computes the credits again from what is stored, and finds the same", async () => {
  const { all } = await rescore(run);
  const { mean, flipped } = all.turnCredit!;
  const credits = stored.flatMap(({ turnCredits }) => turnCredits!.flat());
  expect(mean.before).toBeCloseTo(credits.reduce((a, b) => a + b, 0) / credits.length, 12);
  expect(mean.after).toBe(mean.before);
  expect(flipped.before).not.toBeNull();
  expect(flipped.after).toBe(flipped.before);
});

test("rescore with another weight, or of a run without: what it would have turned round", async () => {
  const { all } = await rescore(run, "rl.turnCredit=100");
  expect(all.turnCredit!.flipped.after).toBeGreaterThan(all.turnCredit!.flipped.before!);
  expect((await rescore(run, "rl.turnCredit=0")).all.turnCredit).toMatchObject({ mean: { after: null } });
  const plain = await project.forager("rescore", project.at("plain"), "rl.turnCredit=1");
  expect(plain.stdout).toMatch(/new: .*turn credit 1\n/);
  expect(plain.stdout).toMatch(/credit of a turn: mean – → 0\.\d+; it turns round the advantage of – → /);
  expect((await rescore(project.at("plain"))).all).not.toHaveProperty("turnCredit");
});

test.each(["parquet", "arrow"])(
  "export rl --format %s: the advantage of each token, as it was learned from",
  async (format) => {
    const out = project.at(`rows.${format}`);
    const { code, stderr } = await project.forager(
      "export",
      "rl",
      run,
      "--format",
      format,
      "--out",
      out,
      "--json",
    );
    expect(code, stderr).toBe(0);
    const rows: Record<string, unknown>[] = [];
    for await (const { value } of readRecords(out)) rows.push(value as Record<string, unknown>);
    expect(rows.map(({ advantages }) => advantages)).toEqual(
      stored.map(({ sequences, turnAdvantages }) => {
        const turns = [...turnAdvantages![0]!];
        return sequences[0]!.segments.flatMap(({ source, tokens }) => {
          const own = source === "policy" ? Math.fround(turns.shift()!) : 0;
          return tokens.map(() => own);
        });
      }),
    );
  },
);

test("questions without gold passages are refused before anything is made", async () => {
  project.write("bare.jsonl", [{ id: "q1", question: "who wrote Dune", golden_answers: ["Frank Herbert"] }]);
  const bare = `data.train.path=${project.at("bare.jsonl")}`;
  const refused = await train("refused", bare, "rl.turnCredit=0.1");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(
    /gold passages[\s\S]*rl\.turnCredit, data\.train[\s\S]*set rl\.turnCredit to 0/,
  );
  expect(existsSync(project.at("refused"))).toBe(false);
});
