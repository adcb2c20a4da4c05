import type Database from "better-sqlite3";
import type { Task } from "../datasets/task.ts";
import type { Outcome, Segment, Sequence, Source, Trajectory } from "../rollout/trajectory.ts";
import { guarded, openStore } from "./open-store.ts";
import { opensSequence, type PackedSegment } from "./packed-sequences.ts";
import { hasColumn, hasTasks, type TrajectoryRow } from "./run-db.ts";
import { type StoredTurns, turnsOf } from "./turn-columns.ts";

/** An episode as a run left it, and what the run made of it. */
export interface StoredMember extends StoredTurns {
  /** Segments have as many tokens as they had, all of them 0: ids and log-probabilities are not read. */
  readonly trajectory: Trajectory;
  /** Absent when it could not be scored. */
  readonly reward?: number;
  readonly parts: Readonly<Record<string, number>>;
  readonly prediction?: string;
  /** Absent when its group was not learned from. */
  readonly advantage?: number;
}

/** A group as a run left it. */
export interface StoredGroup {
  /** Updates made once its step was over, from 1. */
  readonly step: number;
  /** Place in its step, in the order sampled. */
  readonly group: number;
  readonly task: Task;
  readonly verdict: string;
  readonly members: readonly StoredMember[];
}

export interface GroupStore {
  /** Episodes of RL, those included that infrastructure ended. */
  readonly episodes: number;
  /** Did the run keep the ids of gold passages, where its questions have them? */
  readonly withTasks: boolean;
  /** Names of all reward parts that an episode has. */
  partNames(): string[];
  /** Every group of a step, a step at a time: nothing of earlier steps is held. Episodes that are in no group are counted. */
  steps(): Generator<{
    readonly step: number;
    readonly groups: readonly StoredGroup[];
    readonly failed: number;
  }>;
  close(): void;
}

type Row = Omit<TrajectoryRow, "tokens" | "logprobs"> & {
  outcome: Outcome;
  failure: string | null;
  seconds: number | null;
  task: string | null;
};

/**
 * Opens the groups of a run to read them, also while it goes on; steps that end later are then not seen.
 * @param temperature of every policy token of a step, from 1: the store does not hold it
 * @throws CheckpointError when there is no store, or it is damaged
 */
export function openGroups(folder: string, temperature: number | ((step: number) => number)): GroupStore {
  const missing = {
    what: "the run has no episodes yet",
    next: "Give a run folder that `forager train` made, once its first step is done.",
  };
  const at = typeof temperature === "number" ? () => temperature : temperature;
  return openStore(folder, missing, (db, path) => storeOf(db, path, at));
}

function storeOf(db: Database.Database, path: string, temperature: (step: number) => number): GroupStore {
  const withTasks = hasTasks(db);
  const turns = hasColumn(db, "turn_credits") ? "turn_credits, turn_advantages, " : "";
  const rows = db.prepare(
    `SELECT step, grp, member, task_id, question, golden, outcome, verdict, reward, advantage, parts, prediction,
       ending, failure, seconds, ${turns}${withTasks ? "task" : "NULL AS task"}, segments
     FROM trajectories WHERE phase = 'rl' ORDER BY step, grp, member, rowid`,
  );
  const names = db.prepare(
    "SELECT DISTINCT key FROM trajectories, json_each(parts) WHERE phase = 'rl' ORDER BY key",
  );
  const count = db.prepare("SELECT count(*) FROM trajectories WHERE phase = 'rl'");
  return {
    episodes: count.pluck().get() as number,
    withTasks,
    partNames: () => names.pluck().all() as string[],
    *steps() {
      let open: OpenStep | undefined;
      for (const row of rows.iterate() as IterableIterator<Row>) {
        if (open?.step !== row.step) {
          if (open) yield open;
          open = { step: row.step, groups: [], failed: 0 };
        }
        if (row.grp < 0) open.failed++;
        else guarded(path, () => add((open as OpenStep).groups, row, temperature(row.step)));
      }
      if (open) yield open;
    },
    close: () => db.close(),
  };
}

interface OpenStep {
  readonly step: number;
  readonly groups: (StoredGroup & { readonly members: StoredMember[] })[];
  failed: number;
}

function add(groups: OpenStep["groups"], row: Row, temperature: number): void {
  const last = groups.at(-1);
  const group =
    last?.group === row.grp
      ? last
      : { step: row.step, group: row.grp, task: taskOf(row), verdict: row.verdict, members: [] };
  if (group !== last) groups.push(group);
  group.members.push(memberOf(row, group.task, temperature));
}

function taskOf(row: Row): Task {
  const more = row.task === null ? {} : (JSON.parse(row.task) as Partial<Task>);
  return {
    dataset: "",
    hops: 1,
    ...more,
    id: row.task_id,
    question: row.question,
    goldenAnswers: JSON.parse(row.golden) as string[],
  };
}

function memberOf(row: Row, task: Task, temperature: number): StoredMember {
  const ending = row.ending === null ? null : (JSON.parse(row.ending) as Trajectory["ending"] | null);
  return {
    trajectory: {
      task,
      member: row.member,
      sequences: sequencesOf(JSON.parse(row.segments) as PackedSegment[]),
      outcome: row.outcome,
      ...(ending ? { ending } : {}),
      ...(row.failure === null ? {} : { failure: row.failure }),
      temperature,
      seconds: row.seconds ?? 0,
    },
    parts: JSON.parse(row.parts) as Record<string, number>,
    ...(row.reward === null ? {} : { reward: row.reward }),
    ...(row.prediction === null ? {} : { prediction: row.prediction }),
    ...(row.advantage === null ? {} : { advantage: row.advantage }),
    ...turnsOf(row),
  };
}

function sequencesOf(packed: readonly PackedSegment[]): Trajectory["sequences"] {
  const sequences: (Sequence & { segments: Segment[] })[] = [];
  for (const { seat, n, source, outside, ...rest } of packed) {
    if (opensSequence({ seat, source }, sequences.at(-1)))
      sequences.push({ seat, ...(outside && { outside }), segments: [] });
    // New keys first: behind the spread, V8 gives every segment a hidden class of its own, and all reading of it is slow.
    sequences.at(-1)!.segments.push({ source: sources[source], tokens: zeros(n), ...rest });
  }
  return sequences;
}

/** One string of each: parsed, every segment would have its own. */
const sources: Readonly<Record<Source, Source>> = {
  prompt: "prompt",
  policy: "policy",
  observation: "observation",
  injected: "injected",
};

const known = new Map<number, readonly number[]>();

/** One list of each length: only how many there are is asked. */
function zeros(n: number): readonly number[] {
  const found = known.get(n) ?? Object.freeze(new Array<number>(n).fill(0));
  known.set(n, found);
  return found;
}
