import { join } from "node:path";
import Database from "better-sqlite3";
import { CheckpointError, InvariantError } from "../core/errors.ts";
import type { Task } from "../datasets/task.ts";
import type { Scored } from "../reward/scored.ts";
import type { Sequence, Trajectory } from "../rollout/trajectory.ts";
import { pack, unpackSequences } from "./packed-sequences.ts";
import { type StoredTurns, type TurnColumns, turnCells, turnsOf } from "./turn-columns.ts";

export type Phase = "sft" | "rl";
/** Metric name → value; NaN and infinities are never stored (`commit` throws). */
export type Metrics = Readonly<Record<string, number>>;

/** One trajectory as a step leaves it. */
export interface TrajectoryRecord {
  readonly trajectory: Trajectory | Scored;
  /** Place of its group in the step. */
  readonly group: number;
  /** What became of its group: kept, or why not. */
  readonly verdict: string;
  readonly advantage?: number;
  /** Of each turn, [sequences][policy segments], where turns have their own. */
  readonly turnAdvantages?: readonly (readonly number[])[];
}

/** All that one step leaves: written in one transaction, which is the commit point of the step. */
export interface StepRecord {
  readonly phase: Phase;
  /** Updates made so far, from 1. */
  readonly step: number;
  readonly metrics: Metrics;
  readonly trajectories: readonly TrajectoryRecord[];
}

export type StepMetrics = Pick<StepRecord, "phase" | "step" | "metrics">;

export interface RunDb {
  /** @throws InvariantError for a metric that is not a finite number: JSON would make it null */
  commit(record: StepRecord): void;
  /** Writes events of one step, all or none. */
  event(phase: Phase, step: number, name: string, ...data: readonly unknown[]): void;
  /** Forgets everything after `step` of `phase` (what a killed run did past its last checkpoint). */
  rollBack(phase: Phase, step: number): void;
  /** Metrics of every committed step, warm-up first. */
  metrics(): StepMetrics[];
  events(name?: string): { phase: Phase; step: number; name: string; data: unknown }[];
  trajectories(step: number): StoredTrajectory[];
  close(): void;
}

/** A stored trajectory, read back. */
export interface StoredTrajectory extends StoredTurns {
  readonly step: number;
  readonly group: number;
  readonly member: number;
  readonly taskId: string;
  readonly question: string;
  readonly goldenAnswers: readonly string[];
  readonly outcome: string;
  readonly verdict: string;
  readonly reward: number | null;
  readonly advantage: number | null;
  readonly parts: Readonly<Record<string, number>>;
  readonly prediction: string | null;
  /** The environment's own account; absent when infrastructure failed first. */
  readonly ending?: NonNullable<Trajectory["ending"]>;
  readonly sequences: readonly Sequence[];
}

const schema = `
CREATE TABLE IF NOT EXISTS steps (phase TEXT, step INTEGER, metrics TEXT NOT NULL, PRIMARY KEY (phase, step));
CREATE TABLE IF NOT EXISTS trajectories (
  phase TEXT, step INTEGER, grp INTEGER, member INTEGER, task_id TEXT, question TEXT, golden TEXT, outcome TEXT, verdict TEXT,
  reward REAL, advantage REAL, parts TEXT, prediction TEXT, ending TEXT, failure TEXT, seconds REAL,
  task TEXT, segments TEXT, tokens BLOB, logprobs BLOB, turn_credits TEXT, turn_advantages TEXT);
CREATE INDEX IF NOT EXISTS by_step ON trajectories (phase, step);
CREATE TABLE IF NOT EXISTS events (phase TEXT, step INTEGER, name TEXT, data TEXT);
`;

/** In the order of `commit`; a store of an earlier version has them in another. */
const columns = [
  ...["phase", "step", "grp", "member", "task_id", "question", "golden", "outcome", "verdict", "reward"],
  ...["advantage", "parts", "prediction", "ending", "failure", "seconds", "task"],
  ...["segments", "tokens", "logprobs", "turn_credits", "turn_advantages"],
];

/** Opens (or makes) the run's SQLite store. @throws CheckpointError when the file is not a database. */
export function openRunDb(folder: string, o: { keepTokens: boolean } = { keepTokens: true }): RunDb {
  const path = join(folder, "run.db");
  const db = open(path);
  const putStep = db.prepare("INSERT OR REPLACE INTO steps VALUES (?, ?, ?)");
  const putTrajectory = db.prepare(
    `INSERT INTO trajectories (${columns.join(",")}) VALUES (${columns.map(() => "?").join(",")})`,
  );
  const putEvent = db.prepare("INSERT INTO events VALUES (?, ?, ?, ?)");

  const commit = db.transaction((r: StepRecord) => {
    checkMetrics(r);
    putStep.run(r.phase, r.step, JSON.stringify(r.metrics));
    for (const { trajectory: t, group, verdict, advantage, turnAdvantages } of r.trajectories) {
      const scored = "reward" in t ? t : undefined;
      const { segments, tokens, logprobs } = pack(t.sequences, o.keepTokens);
      putTrajectory.run(
        r.phase,
        r.step,
        group,
        t.member,
        t.task.id,
        t.task.question,
        JSON.stringify(t.task.goldenAnswers),
        t.outcome,
        verdict,
        scored?.reward ?? null,
        advantage ?? null,
        JSON.stringify(scored?.parts ?? {}),
        scored?.prediction ?? null,
        JSON.stringify(t.ending ?? null),
        t.failure ?? null,
        t.seconds,
        taskText(t.task),
        segments,
        tokens,
        logprobs,
        ...turnCells(scored?.turnCredits, turnAdvantages),
      );
    }
  });
  const rollBack = db.transaction((phase: Phase, step: number) => {
    // The warm-up comes before RL, so going back into it forgets all of RL.
    for (const table of ["steps", "trajectories", "events"]) {
      db.prepare(`DELETE FROM ${table} WHERE phase = ? AND step > ?`).run(phase, step);
      if (phase === "sft") db.prepare(`DELETE FROM ${table} WHERE phase = 'rl'`).run();
    }
  });

  return {
    commit,
    rollBack,
    event: db.transaction((phase: Phase, step: number, name: string, ...data: readonly unknown[]) => {
      for (const each of data) putEvent.run(phase, step, name, JSON.stringify(each));
    }),
    metrics: () =>
      (
        db.prepare("SELECT * FROM steps ORDER BY phase DESC, step").all() as {
          phase: Phase;
          step: number;
          metrics: string;
        }[]
      ).map((row) => ({ ...row, metrics: JSON.parse(row.metrics) as Metrics })),
    events: (name) =>
      (
        db
          .prepare(`SELECT * FROM events ${name ? "WHERE name = ?" : ""} ORDER BY rowid`)
          .all(...(name ? [name] : [])) as { phase: Phase; step: number; name: string; data: string }[]
      ).map((row) => ({ ...row, data: JSON.parse(row.data) as unknown })),
    trajectories: (step) =>
      (
        db
          .prepare("SELECT * FROM trajectories WHERE phase = 'rl' AND step = ? ORDER BY grp, member")
          .all(step) as TrajectoryRow[]
      ).map(unpack),
    close: () => db.close(),
  };
}

function checkMetrics({ phase, step, metrics }: StepRecord): void {
  for (const [name, value] of Object.entries(metrics))
    if (!Number.isFinite(value))
      throw new InvariantError({
        what: `metric \`${name}\` is not a finite number`,
        where: `${phase} step ${step}`,
        got: String(value),
      });
}

function open(path: string): Database.Database {
  try {
    const db = new Database(path);
    db.pragma("journal_mode = WAL");
    db.pragma("synchronous = FULL"); // a checkpoint never outlives the steps before it, not even a power cut
    db.exec(schema);
    // A run that began before episodes were kept with all of this goes on without it.
    for (const name of ["task", "turn_credits", "turn_advantages"])
      if (!hasColumn(db, name)) db.exec(`ALTER TABLE trajectories ADD COLUMN ${name} TEXT`);
    return db;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new CheckpointError({
      what: "cannot open the run's store",
      where: path,
      got: message,
      next: "Check that the folder can be written, that there is free space, and that the file is a Forager run.db.",
      cause,
    });
  }
}

/** Does the store keep what a question says beside its words: data set, hops, ids of gold passages? */
export const hasTasks = (db: Database.Database): boolean => hasColumn(db, "task");

/** Does the table of trajectories have it? Earlier versions had fewer. */
export const hasColumn = (db: Database.Database, name: string): boolean =>
  db.prepare("SELECT 1 FROM pragma_table_info('trajectories') WHERE name = ?").get(name) !== undefined;

const taskText = ({ dataset, hops, supportingIds }: Task) =>
  JSON.stringify({ dataset, hops, ...(supportingIds ? { supportingIds } : {}) });

/** A row of the table of trajectories, as it is stored. */
export interface TrajectoryRow extends TurnColumns {
  step: number;
  grp: number;
  member: number;
  task_id: string;
  question: string;
  golden: string;
  outcome: string;
  verdict: string;
  reward: number | null;
  advantage: number | null;
  parts: string;
  prediction: string | null;
  ending: string | null;
  segments: string;
  tokens: Buffer | null;
  logprobs: Buffer | null;
}

export function unpack(row: TrajectoryRow): StoredTrajectory {
  const ending = JSON.parse(row.ending ?? "null") as StoredTrajectory["ending"] | null;
  return {
    step: row.step,
    group: row.grp,
    member: row.member,
    taskId: row.task_id,
    question: row.question,
    goldenAnswers: JSON.parse(row.golden) as string[],
    outcome: row.outcome,
    verdict: row.verdict,
    reward: row.reward,
    advantage: row.advantage,
    parts: JSON.parse(row.parts) as Record<string, number>,
    prediction: row.prediction,
    ...(ending && { ending }),
    sequences: unpackSequences(row),
    ...turnsOf(row),
  };
}
