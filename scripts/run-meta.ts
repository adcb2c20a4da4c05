import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { arch, availableParallelism, platform } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../configs/schema.ts";
import { CheckpointError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import type { Task } from "../datasets/task.ts";
import { sftStages } from "../rl/config.ts";
import { adapterHashes } from "../rl/policy/adapters.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import { gitRevision, type RunFolder, readJson } from "../track/run-folder.ts";
import type { Output } from "./output.ts";
import { packageVersion } from "./package-version.ts";
import type { Setup } from "./setup.ts";

const circumstances = z.object({
  forager: z.string(),
  node: z.string(),
  platform: z.string(),
  threads: z.int(),
});

/** What a run is made of, as fingerprints: a resumed run must find the same again. */
const ingredients = z.object({
  model: z.string(),
  tokenizer: z.string(),
  search: z.string(),
  questions: z.string(),
  demonstrations: z.string(),
  benchmarks: z.string(),
});
type Ingredients = z.infer<typeof ingredients>;

/** meta.json: what made this run, enough to argue with it later. */
const metaSchema = circumstances.extend({
  name: z.string(),
  /** Git revision of the working directory, "+" when it has changes; absent outside a repository. */
  revision: z.string().optional(),
  configSha256: z.string(),
  ingredients,
  /** Fingerprint of each adapter as the run began, where its policy has several. */
  adapters: z.record(z.string(), z.string()).optional(),
  startedAt: z.string(),
  attempts: z.int(),
});
export type RunMeta = z.infer<typeof metaSchema>;

const here = (config: Config): z.infer<typeof circumstances> => ({
  forager: packageVersion(),
  node: process.version,
  platform: `${platform()} ${arch()}`,
  threads: config.engine.threads || availableParallelism(),
});

const path = (folder: RunFolder) => join(folder.path, "meta.json");
const write = (folder: RunFolder, meta: RunMeta) =>
  writeFileAtomic(path(folder), `${JSON.stringify(meta, null, 2)}\n`);

/** @param text of config.yaml */
export function writeMeta(folder: RunFolder, setup: Setup, text: string, now: Date): void {
  const revision = gitRevision();
  write(folder, {
    name: setup.config.run.name,
    ...here(setup.config),
    ...(revision ? { revision } : {}),
    configSha256: sha256(text),
    ingredients: ingredientsOf(setup),
    ...(setup.start.adapters ? { adapters: adapterHashes(setup.start) } : {}),
    startedAt: now.toISOString(),
    attempts: 1,
  });
}

function readMeta(folder: RunFolder): RunMeta {
  const parsed = metaSchema.safeParse(readJson(path(folder)));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new CheckpointError({
    what: `\`${issue?.path.join(".")}\` of the run's record is wrong`,
    where: path(folder),
    got: issue?.message ?? "",
    next: "Restore the file or start a new run.",
  });
}

/**
 * Checks, before anything is opened, that a run can go on with the config it was started with.
 * @throws CheckpointError when config.yaml was changed or the base model is no longer where it was
 */
export function checkConfigUnchanged(folder: RunFolder): void {
  const file = join(folder.path, "config.yaml");
  if (sha256(readFileSync(file, "utf8")) === readMeta(folder).configSha256) return;
  throw new CheckpointError({
    what: "the config was changed since the run began",
    where: file,
    next: "Restore it: a resumed run keeps its config. To train with other values, start a new run.",
  });
}

export function checkModelInPlace({ model }: Config): void {
  for (const [key, folder] of Object.entries({ path: model.path, adapter: model.adapter }))
    if (folder !== undefined && !existsSync(folder))
      throw new CheckpointError({
        what:
          key === "path" ? "the run's base model is no longer there" : "the run's adapter is no longer there",
        where: folder,
        next: "Move it back, or put a link in its place; then resume again.",
      });
}

const words: Readonly<Record<keyof Ingredients, string>> = {
  model: "base model",
  tokenizer: "tokenizer",
  search: "search index or corpus",
  questions: "training questions",
  demonstrations: "file of demonstrations",
  benchmarks: "benchmarks' questions",
};

/**
 * Checks that everything a resumed run is made of is what it was, counts the attempt, and warns where the same bits
 * can no longer be promised. @throws CheckpointError that names what changed
 */
export function takeUp(folder: RunFolder, setup: Setup, output: Output): void {
  const meta = readMeta(folder);
  const now = ingredientsOf(setup);
  for (const key of Object.keys(words) as (keyof Ingredients)[])
    if (now[key] !== meta.ingredients[key])
      throw new CheckpointError({
        what: `the ${words[key]} changed since the run began`,
        where: folder.path,
        got: now[key].slice(0, 12),
        expected: meta.ingredients[key].slice(0, 12),
        next: "Restore what the run was started with, or start a new run.",
      });
  for (const [name, value] of Object.entries(here(setup.config))) {
    const before = meta[name as keyof RunMeta];
    if (value !== before)
      output.warn(
        `the run began with ${name} ${before}, now ${value}: it goes on, but may end with other bits`,
      );
  }
  write(folder, { ...meta, attempts: meta.attempts + 1 });
}

function ingredientsOf({ start, tokenizer, retriever, trainTasks, benchmarks, config }: Setup): Ingredients {
  const stored = sftStages(config.sft).flatMap(({ source }) => ("path" in source ? [source.path] : []));
  return {
    model: weightsSha256(start),
    tokenizer: tokenizer.fingerprint,
    search: String(retriever.version),
    questions: fingerprint(trainTasks ?? []),
    demonstrations: sha256(stored.map(fileSha256).join("\n")),
    benchmarks: fingerprint(benchmarks.flatMap(({ tasks }) => tasks)),
  };
}

/** Of ids, questions and gold in order. */
const fingerprint = (tasks: readonly Task[]) =>
  sha256(
    tasks.map(({ id, question, goldenAnswers }) => JSON.stringify([id, question, goldenAnswers])).join("\n"),
  );

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Piece by piece: the file may be larger than a buffer can be. */
function fileSha256(path: string): string {
  const hash = createHash("sha256");
  const piece = Buffer.alloc(1 << 20);
  const file = openSync(path, "r");
  try {
    for (let n = readSync(file, piece); n > 0; n = readSync(file, piece)) hash.update(piece.subarray(0, n));
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}
