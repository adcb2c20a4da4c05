import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { CheckpointError } from "../../core/errors.ts";
import { opensSequence, type PackedSegment } from "../packed-sequences.ts";
import { type StoredTrajectory, type TrajectoryRow, unpack } from "../run-db.ts";

/** What filters need of an episode. */
export interface Candidate {
  readonly row: number;
  readonly step: number;
  readonly group: number;
  readonly member: number;
  readonly taskId: string;
  readonly question: string;
  readonly goldenAnswers: readonly string[];
  readonly outcome: string;
  readonly verdict: string;
  readonly reward: number | null;
  /** Of its longest sequence. */
  readonly tokens: number;
  /** Equal for episodes of one question in which the same was said. */
  readonly digest: string;
}

export interface EpisodeStore {
  /** Every stored episode of RL, in the order of steps, groups and members. */
  candidates(): Generator<Candidate>;
  episode(row: number): StoredTrajectory;
  /** Names of all reward parts that an episode of the run has. */
  partNames(): string[];
  close(): void;
}

/**
 * Opens a run's store to read: also while the run goes on, whose later steps are then not seen.
 * @throws CheckpointError when there is none
 */
export function openEpisodes(folder: string): EpisodeStore {
  const path = join(folder, "run.db");
  if (!existsSync(path))
    throw new CheckpointError({
      what: "the run has no episodes yet",
      where: path,
      next: "Export it once its first step is done.",
    });
  const db = open(path);
  const all = db.prepare(
    `SELECT rowid, step, grp, member, task_id, question, golden, outcome, verdict, reward, segments
     FROM trajectories WHERE phase = 'rl' ORDER BY step, grp, member, rowid`,
  );
  const one = db.prepare("SELECT * FROM trajectories WHERE rowid = ?");
  const names = db.prepare(
    "SELECT DISTINCT key FROM trajectories, json_each(parts) WHERE phase = 'rl' ORDER BY key",
  );
  return {
    *candidates() {
      for (const row of all.iterate() as Iterable<TrajectoryRow & { rowid: number }>) yield candidateOf(row);
    },
    episode: (row) => unpack(one.get(row) as TrajectoryRow),
    partNames: () => names.pluck().all() as string[],
    close: () => db.close(),
  };
}

function open(path: string): Database.Database {
  try {
    const db = new Database(path, { readonly: true });
    db.exec("BEGIN"); // one state of the store for all reads
    db.prepare("SELECT 1 FROM trajectories LIMIT 1").get();
    return db;
  } catch (cause) {
    throw new CheckpointError({
      what: "cannot read the run's store",
      where: path,
      got: (cause as Error).message,
      next: "Check that the file is a Forager run.db and can be read.",
      cause,
    });
  }
}

function candidateOf(row: TrajectoryRow & { rowid: number }): Candidate {
  const segments = JSON.parse(row.segments) as PackedSegment[];
  const sequences: { seat: string; tokens: number }[] = [];
  const digest = createHash("sha1").update(row.task_id);
  for (const { seat, source, text, n } of segments) {
    if (opensSequence({ seat, source }, sequences.at(-1))) sequences.push({ seat, tokens: 0 });
    sequences.at(-1)!.tokens += n;
    digest.update(JSON.stringify([seat, source, text]));
  }
  const { rowid, step, grp, member, task_id, question, outcome, verdict, reward } = row;
  return {
    ...{ row: rowid, step, group: grp, member, taskId: task_id, question, outcome, verdict, reward },
    goldenAnswers: JSON.parse(row.golden) as string[],
    tokens: Math.max(0, ...sequences.map(({ tokens }) => tokens)),
    digest: digest.digest("base64"),
  };
}
