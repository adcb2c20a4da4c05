import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Loaded } from "../configs/load.ts";
import { printConfig } from "../configs/print.ts";
import type { Config } from "../configs/schema.ts";
import { writeFileAtomic } from "../core/files.ts";
import type { EvalResult } from "../eval/evaluate.ts";
import type { TeamCost } from "../eval/report/team-cost.ts";
import { type RunState, readCheckpointState, saveCheckpoint } from "../rl/run-checkpoint.ts";
import { openRunDb, type RunDb, type StepRecord } from "../track/run-db.ts";
import {
  appendMetrics,
  checkpointPath,
  createRunFolder,
  forgetEvals,
  listCheckpoints,
  makeFolders,
  pruneCheckpoints,
  type RunFolder,
  readJson,
  sweep,
  writeMetricsFile,
} from "../track/run-folder.ts";
import { lockRun, type RunLock } from "../track/run-lock.ts";
import { sampledTokens } from "../track/sampled-tokens.ts";
import { writeMeta } from "./run-meta.ts";
import type { Setup } from "./setup.ts";
import { tokenizerFiles } from "./tokenizer-files.ts";

/** A run on disk: its folder, its store, and what is written there. */
export interface RunRecord {
  readonly folder: RunFolder;
  readonly db: RunDb;
  /** The commit point of a step. */
  commit(record: StepRecord): void;
  /** Forgets what an earlier attempt did past the state that this one starts from. */
  rollBack(state: RunState): void;
  /** Writes a checkpoint and prunes old ones. `best` is the RL step with the best evaluation. */
  checkpoint(state: RunState, best?: number): Promise<void>;
  prune(best?: number): void;
  /** From now on the RL checkpoints of these steps are kept, too, and those named before no longer for that. */
  pin(steps: readonly number[]): void;
  /** Wall time of the run so far, in seconds, earlier attempts included. */
  seconds(): number;
  summary(data: Summary): void;
  close(): void;
}

/** summary.json. */
export interface Summary {
  readonly status: "done" | "interrupted" | "failed";
  /** RL updates recorded. */
  readonly steps: number;
  readonly seconds: number;
  /** Tokens that the policy sampled in training, those of episodes that nothing was learnt from included. */
  readonly sampledTokens: number;
  /** Where a team played: what it cost. */
  readonly team?: TeamCost;
  readonly evals: readonly EvalSummary[];
  /** Of the policy as it stands; of a failed run the last checkpoint's, "" without one. */
  readonly weightsSha256: string;
  /** Of a failed run: what the error said. */
  readonly error?: string;
}

export type EvalSummary = Pick<
  EvalResult,
  "step" | "mode" | "benchmark" | "n" | "em" | "low" | "high" | "byHops" | "emAt"
>;
export const summaryOf = ({
  step,
  mode,
  benchmark,
  n,
  em,
  low,
  high,
  byHops,
  emAt,
}: EvalResult): EvalSummary => ({
  ...{ step, mode, benchmark, n, em, low, high, byHops, emAt },
});

const summaryPath = (folder: RunFolder) => join(folder.path, "summary.json");
export const readSummary = (folder: RunFolder): Summary | undefined =>
  existsSync(summaryPath(folder)) ? (readJson(summaryPath(folder)) as Summary) : undefined;

/** Where a new run goes: as the config says, else by name and time. */
export function runPath({ run }: Config, now: Date): string {
  return run.dir ?? join("runs", `${run.name}-${now.toISOString().slice(0, 19).replaceAll(":", "-")}`);
}

/**
 * Makes the folder of a new run with its circumstances and its resolved config, which comes last: a folder with a
 * config.yaml can be resumed. What fails leaves nothing behind.
 */
export function startRecord(
  path: string,
  loaded: Loaded<Config>,
  setup: Setup,
  now: Date,
): { folder: RunFolder; lock: RunLock } {
  const made = !existsSync(path);
  let lock: RunLock | undefined;
  try {
    const folder = createRunFolder(path);
    lock = lockRun(folder.path);
    const text = printConfig(loaded.config, loaded.stated);
    writeMeta(folder, setup, text, now);
    writeFileAtomic(join(folder.path, "config.yaml"), text);
    return { folder, lock };
  } catch (error) {
    if (lock === undefined) throw error; // no folder, or somebody else's
    lock.release();
    if (made) rmSync(path, { recursive: true, force: true });
    throw error;
  }
}

/** Opens a run's record to write in; the caller holds its lock. `began` is when this attempt did, in Date.now(). */
export function openRecord(folder: RunFolder, setup: Setup, began: number): RunRecord {
  const { config, vocabulary } = setup;
  makeFolders(folder);
  sweep(folder);
  const db = openRunDb(folder.path, config.track);
  const earlier = Math.max(
    readSummary(folder)?.seconds ?? 0,
    ...db.metrics().map(({ metrics }) => metrics.seconds_total ?? 0),
  );
  const seconds = () => earlier + (Date.now() - began) / 1e3;
  if (vocabulary) writeFileAtomic(join(folder.path, "vocabulary.json"), `${JSON.stringify(vocabulary)}\n`);
  const files =
    config.model.path && !vocabulary
      ? tokenizerFiles(config.model.path)
      : [join(folder.path, "vocabulary.json")];
  let pinned: readonly number[] = [];
  const prune = (best?: number) =>
    void pruneCheckpoints(
      folder,
      config.track.keepCheckpoints,
      best === undefined ? pinned : [best, ...pinned],
    );
  return {
    folder,
    db,
    seconds,
    prune,
    pin(steps) {
      pinned = steps;
    },
    commit(record) {
      const timed = { ...record, metrics: { ...record.metrics, seconds_total: seconds() } };
      db.commit(timed);
      appendMetrics(folder, timed);
    },
    rollBack({ phase, step }) {
      db.rollBack(phase, step);
      forgetEvals(folder, phase === "rl" ? step : -1);
      writeMetricsFile(folder, db);
    },
    async checkpoint(state, best) {
      await saveCheckpoint(checkpointPath(folder, state.phase, state.step), state, {
        ...(config.model.path && state.policy.lora ? { base: config.model.path } : {}),
        tokenizerFiles: files,
      });
      prune(best);
    },
    summary: (data) => writeFileAtomic(summaryPath(folder), `${JSON.stringify(data, null, 2)}\n`),
    close: () => db.close(),
  };
}

/** What a run that failed has to show for itself. */
export function failedSummary({ folder, db, seconds }: RunRecord, error: unknown): Summary {
  const steps = db.metrics().filter(({ phase }) => phase === "rl");
  const last = listCheckpoints(folder).at(-1);
  return {
    status: "failed",
    steps: steps.at(-1)?.step ?? 0,
    seconds: round(seconds()),
    sampledTokens: sampledTokens(steps),
    evals: db.events("eval").map(({ data }) => summaryOf(data as EvalResult)),
    weightsSha256: last ? readCheckpointState(last.path).weightsSha256 : "",
    error: error instanceof Error ? error.message : String(error),
  };
}

export const round = (seconds: number) => Math.round(seconds * 10) / 10;
