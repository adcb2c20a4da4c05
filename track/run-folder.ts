import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CheckpointError, ConfigError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import type { Phase, RunDb } from "./run-db.ts";

/** A run folder and the names in it. */
export interface RunFolder {
  readonly path: string;
  readonly checkpoints: string;
  readonly evals: string;
}

/** What made this run: enough to argue with it later. */
export interface RunMeta {
  readonly name: string;
  readonly forager: string;
  readonly node: string;
  readonly platform: string;
  readonly threads: number;
  /** Git revision of the working directory, "+" when it has changes; absent outside a repository. */
  readonly revision?: string;
  readonly configSha256: string;
  readonly startedAt: string;
  readonly attempts: number;
}

/** Makes a new run folder. @throws ConfigError when the folder exists and is not empty. */
export function createRunFolder(path: string): RunFolder {
  if (existsSync(path) && readdirSync(path).length > 0)
    throw new ConfigError({
      what: "the run folder is not empty",
      where: path,
      next: `Name another with run.dir=…, or continue it with \`forager train --resume ${path}\`.`,
    });
  mkdirSync(join(path, "checkpoints"), { recursive: true });
  mkdirSync(join(path, "evals"), { recursive: true });
  return folderOf(path);
}

/** Opens a run folder that exists. */
export function openRunFolder(path: string): RunFolder {
  if (!existsSync(join(path, "config.yaml")))
    throw new CheckpointError({
      what: "not a run folder",
      where: path,
      expected: "a folder with config.yaml, run.db and checkpoints/",
      next: "Give the folder that `forager train` printed.",
    });
  return folderOf(path);
}

const folderOf = (path: string): RunFolder => ({
  path,
  checkpoints: join(path, "checkpoints"),
  evals: join(path, "evals"),
});

/** Git revision of the working directory, if there is one. */
export function gitRevision(): string | undefined {
  const git = (...args: string[]) =>
    execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  try {
    return git("rev-parse", "--short=12", "HEAD") + (git("status", "--porcelain") === "" ? "" : "+");
  } catch {
    return undefined;
  }
}

/** metrics.jsonl is derived from run.db, whole and atomically, so a torn line cannot occur. */
export function writeMetricsFile(run: RunFolder, db: RunDb): void {
  const lines = db.metrics().map(({ phase, step, metrics }) => JSON.stringify({ phase, step, ...metrics }));
  writeFileAtomic(join(run.path, "metrics.jsonl"), lines.map((line) => `${line}\n`).join(""));
}

const checkpointName = /^(sft|rl)-(\d{6})$/;
export interface CheckpointRef {
  readonly phase: Phase;
  readonly step: number;
  readonly path: string;
}

export const checkpointPath = (run: RunFolder, phase: Phase, step: number): string =>
  join(run.checkpoints, `${phase}-${String(step).padStart(6, "0")}`);

/** Complete checkpoints, oldest first (folders are renamed into place, so a name means complete). */
export function listCheckpoints(run: RunFolder): CheckpointRef[] {
  return readdirSync(run.checkpoints)
    .flatMap((name) => {
      const match = checkpointName.exec(name);
      return match
        ? [{ phase: match[1] as Phase, step: Number(match[2]), path: join(run.checkpoints, name) }]
        : [];
    })
    .sort((a, b) => (a.phase === b.phase ? a.step - b.step : a.phase === "sft" ? -1 : 1));
}

/** Keeps the last `keep`, the best, and RL's step 0 (the reference of KL and of every comparison). */
export function pruneCheckpoints(run: RunFolder, keep: number, best?: number): string[] {
  const all = listCheckpoints(run);
  const spare = all.slice(0, -keep).filter((c) => !(c.phase === "rl" && (c.step === 0 || c.step === best)));
  for (const { path } of spare) rmSync(path, { recursive: true, force: true });
  for (const name of readdirSync(run.checkpoints).filter((n) => n.endsWith(".tmp")))
    rmSync(join(run.checkpoints, name), { recursive: true, force: true });
  return spare.map((c) => c.path);
}

export const readJson = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as unknown;
  } catch (cause) {
    throw new CheckpointError({
      what: "cannot read the file",
      where: path,
      got: cause instanceof Error ? cause.message : String(cause),
      next: "Restore it or start a new run.",
      cause,
    });
  }
};
