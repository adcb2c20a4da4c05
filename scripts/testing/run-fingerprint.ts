import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openRunDb } from "../../track/run-db.ts";
import { openRunFolder } from "../../track/run-folder.ts";

/** Keys that say how long something took. */
const wall = /^seconds|^milliseconds$|^tokens_per_second$|^tokensPerSecond$|^hours$/;

/** All that a run leaves, wall times aside, as text a line: two runs that did the same give the same lines. */
export function runFingerprint(path: string): string[] {
  const run = openRunFolder(path);
  const summary = read(join(path, "summary.json"));
  const db = openRunDb(path);
  try {
    const metrics = readFileSync(join(path, "metrics.jsonl"), "utf8").trim().split("\n");
    const steps = db.metrics();
    return [
      `summary ${timeless(JSON.parse(summary))}`,
      ...metrics.map((line) => `metrics.jsonl ${timeless(JSON.parse(line))}`),
      ...steps.map((step) => `step ${timeless({ ...step, ...step.metrics, metrics: 0 })}`),
      ...db.events().map((event) => `event ${timeless(event)}`),
      ...steps
        .filter(({ phase }) => phase === "rl")
        .flatMap(({ step }) => db.trajectories(step))
        .map((t) => `trajectory ${t.step}/${t.group}/${t.member} ${t.taskId} ${sha256(timeless(t))}`),
      ...filesBelow(run.evals)
        .filter((file) => !file.endsWith("timings.jsonl"))
        .map((file) => `evals/${file} ${sha256(read(join(run.evals, file)))}`),
      ...filesBelow(run.checkpoints).map(
        (file) => `checkpoints/${file} ${sha256(read(join(run.checkpoints, file)))}`,
      ),
      ...readdirSync(path)
        .filter((name) => !/^run\.(db-|pid$)/.test(name))
        .map((name) => `has ${name}`),
    ];
  } finally {
    db.close();
  }
}

/** Lines of one that the other lacks, to say where two runs differ. */
export function runDifference(a: readonly string[], b: readonly string[]): string[] {
  const [inA, inB] = [new Set(a), new Set(b)];
  const [onlyA, onlyB] = [a.filter((line) => !inB.has(line)), b.filter((line) => !inA.has(line))];
  const moved = onlyA.length + onlyB.length === 0 && a.join("\n") !== b.join("\n");
  return [
    ...onlyA.map((line) => `- ${line.slice(0, 160)}`),
    ...onlyB.map((line) => `+ ${line.slice(0, 160)}`),
    ...(moved ? ["the same lines in another order or number"] : []),
  ];
}

const read = (file: string) => (existsSync(file) ? readFileSync(file, "latin1") : "");
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16);
/** JSON without what says how long something took. */
export const timeless = (value: unknown) =>
  JSON.stringify(value, (key, field: unknown) => (wall.test(key) ? undefined : field));
const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
