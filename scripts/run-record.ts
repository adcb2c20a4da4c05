import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { arch, availableParallelism, platform } from "node:os";
import { join } from "node:path";
import type { Loaded } from "../configs/load.ts";
import { printConfig } from "../configs/print.ts";
import type { Config } from "../configs/schema.ts";
import { writeFileAtomic } from "../core/files.ts";
import { packageRoot } from "../core/package-root.ts";
import type { EvalResult } from "../eval/evaluate.ts";
import { type RunState, saveCheckpoint } from "../rl/run-checkpoint.ts";
import { openRunDb, type Phase, type RunDb, type StepRecord } from "../track/run-db.ts";
import {
  checkpointPath,
  createRunFolder,
  gitRevision,
  pruneCheckpoints,
  type RunFolder,
  type RunMeta,
  readJson,
  writeMetricsFile,
} from "../track/run-folder.ts";
import { type Setup, tokenizerFiles } from "./setup.ts";

/** A run on disk: its folder, its store, and what is written there. */
export interface RunRecord {
  readonly folder: RunFolder;
  readonly db: RunDb;
  /** The commit point of a step. */
  commit(record: StepRecord): void;
  /** Writes a checkpoint and prunes old ones. `best` is the RL step with the best evaluation. */
  checkpoint(state: RunState, best?: number): Promise<string>;
  summary(data: Summary): void;
  close(): void;
}

export interface Summary {
  readonly status: "done" | "interrupted" | "failed";
  readonly steps: number;
  readonly seconds: number;
  readonly evals: readonly EvalSummary[];
  readonly weightsSha256: string;
  readonly error?: string;
}

export type EvalSummary = Pick<
  EvalResult,
  "step" | "mode" | "benchmark" | "n" | "em" | "low" | "high" | "byHops" | "emAt"
>;

export const version = (): string =>
  (JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as { version: string }).version;

/** Makes the folder of a new run with its resolved config and its circumstances. */
export function startRecord(loaded: Loaded<Config>, now: Date): RunFolder {
  const { run } = loaded.config;
  const stamp = now.toISOString().slice(0, 19).replaceAll(":", "-");
  const folder = createRunFolder(run.dir ?? join("runs", `${run.name}-${stamp}`));
  const text = printConfig(loaded.config, loaded.stated);
  writeFileAtomic(join(folder.path, "config.yaml"), text);
  const revision = gitRevision();
  writeMeta(folder, {
    name: run.name,
    forager: version(),
    node: process.version,
    platform: `${platform()} ${arch()}`,
    threads: loaded.config.engine.threads || availableParallelism(),
    ...(revision ? { revision } : {}),
    configSha256: createHash("sha256").update(text).digest("hex"),
    startedAt: now.toISOString(),
    attempts: 1,
  });
  return folder;
}

export function countAttempt(folder: RunFolder): void {
  const meta = readJson(join(folder.path, "meta.json")) as RunMeta;
  writeMeta(folder, { ...meta, attempts: meta.attempts + 1 });
}

const writeMeta = (folder: RunFolder, meta: RunMeta) =>
  writeFileAtomic(join(folder.path, "meta.json"), `${JSON.stringify(meta, null, 2)}\n`);

export function openRecord(folder: RunFolder, setup: Setup): RunRecord {
  const { config, vocabulary } = setup;
  const db = openRunDb(folder.path, config.track);
  const files = config.model.path
    ? tokenizerFiles(config.model.path)
    : [join(folder.path, "vocabulary.json")];
  if (vocabulary) writeFileAtomic(join(folder.path, "vocabulary.json"), `${JSON.stringify(vocabulary)}\n`);
  return {
    folder,
    db,
    commit(record) {
      db.commit(record);
      writeMetricsFile(folder, db);
    },
    async checkpoint(state, best) {
      const path = checkpointPath(folder, state.phase as Phase, state.step);
      await saveCheckpoint(path, state, {
        ...(config.model.path && state.policy.lora ? { base: config.model.path } : {}),
        tokenizerFiles: files,
      });
      pruneCheckpoints(folder, config.track.keepCheckpoints, best);
      return path;
    },
    summary: (data) =>
      writeFileAtomic(join(folder.path, "summary.json"), `${JSON.stringify(data, null, 2)}\n`),
    close: () => db.close(),
  };
}
