import { execFileSync } from "node:child_process";
import {
  accessSync,
  appendFileSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CheckpointError, ConfigError } from "../core/errors.ts";
import { makeFolder, writeFileAtomic } from "../core/files.ts";
import type { Phase, RunDb, StepMetrics } from "./run-db.ts";
import { lockFiles } from "./run-lock.ts";

/** A run folder and the names in it. */
export interface RunFolder {
  readonly path: string;
  readonly checkpoints: string;
  readonly evals: string;
}

/** What a start that was cut short leaves: a folder with nothing else in it was never begun. */
const beginnings = ["checkpoints", "evals", "meta.json", ...lockFiles];

/**
 * Checks that a new run can go here, without making anything: the folder is new or empty, and the nearest folder above
 * it can be written. @throws ConfigError
 */
export function checkRunFolder(path: string): void {
  let above = resolve(path);
  while (!existsSync(above) && dirname(above) !== above) above = dirname(above);
  const wrong = (what: string, got?: string) =>
    new ConfigError({
      what,
      where: path,
      ...(got === undefined ? {} : { got }),
      next: "Name another with run.dir=….",
    });
  if (!statSync(above).isDirectory())
    throw wrong("the run folder cannot be made", `${above} is a file, not a folder`);
  try {
    accessSync(above, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw wrong("the run folder cannot be written", (cause as Error).message);
  }
  if (!existsSync(path)) return;
  const found = readdirSync(path).filter((name) => !beginnings.includes(name) && !name.endsWith(".tmp"));
  if (found.length === 0) return;
  const isRun = found.includes("config.yaml");
  throw new ConfigError({
    what: isRun ? "there is a run in this folder already" : "the run folder is not empty",
    where: path,
    ...(isRun ? {} : { got: found.slice(0, 3).join(", ") }),
    next: isRun
      ? `Continue it with \`forager train --resume ${path}\`, or name another with run.dir=….`
      : "Name another with run.dir=….",
  });
}

/** Makes a new run folder. @throws ConfigError when the folder exists and is not empty. */
export function createRunFolder(path: string): RunFolder {
  checkRunFolder(path);
  const folder = folderOf(path);
  makeFolders(folder);
  return folder;
}

/** Also for a folder that someone copied without its empty folders. */
export function makeFolders({ checkpoints, evals }: RunFolder): void {
  makeFolder(checkpoints);
  makeFolder(evals);
}

/** Removes the temporary files of writes that were killed. Only for the process that holds the run's lock. */
export function sweep({ path, checkpoints, evals }: RunFolder): void {
  const inEvals = readdirSync(evals).map((name) => join(evals, name));
  for (const folder of [path, checkpoints, ...inEvals.filter((each) => statSync(each).isDirectory())])
    for (const name of readdirSync(folder).filter((each) => each.endsWith(".tmp")))
      rmSync(join(folder, name), { recursive: true, force: true });
}

/** Folder of one evaluation inside `evals`; `forgetEvals` reads the step back from it. */
export const evalFolder = (
  evals: string,
  benchmark: string,
  step: number,
  mode: "greedy" | "sampled",
): string => join(evals, `${benchmark}-${step}-${mode}`);

/** Removes the evaluations of policies after `step` updates, of steps that are to be made again. */
export function forgetEvals({ evals }: RunFolder, step: number): void {
  for (const name of readdirSync(evals)) {
    const at = /-(\d+)-(greedy|sampled)$/.exec(name)?.[1];
    if (at !== undefined && Number(at) > step) rmSync(join(evals, name), { recursive: true, force: true });
  }
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

const metricsLine = ({ phase, step, metrics }: StepMetrics) =>
  `${JSON.stringify({ phase, step, ...metrics })}\n`;
const metricsPath = (run: RunFolder) => join(run.path, "metrics.jsonl");

/** metrics.jsonl is derived from run.db: written anew when a run is opened, which mends what a kill left… */
export function writeMetricsFile(run: RunFolder, db: RunDb): void {
  writeFileAtomic(metricsPath(run), db.metrics().map(metricsLine).join(""));
}

/** …and a line longer with each step. */
export function appendMetrics(run: RunFolder, step: StepMetrics): void {
  appendFileSync(metricsPath(run), metricsLine(step));
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

/** Keeps the last `keep`, the `wanted` RL steps, and RL's step 0 (the reference of KL and of every comparison). */
export function pruneCheckpoints(run: RunFolder, keep: number, wanted: readonly number[] = []): string[] {
  const all = listCheckpoints(run);
  const spare = all
    .slice(0, -keep)
    .filter((c) => !(c.phase === "rl" && (c.step === 0 || wanted.includes(c.step))));
  for (const { path } of spare) {
    // Under its own name a checkpoint is always whole: it leaves that name before its files go.
    const gone = `${path}.tmp`;
    rmSync(gone, { recursive: true, force: true });
    renameSync(path, gone);
    rmSync(gone, { recursive: true, force: true });
  }
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
