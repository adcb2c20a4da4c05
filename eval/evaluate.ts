import { join } from "node:path";
import { DataError, InvariantError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import { seedOf } from "../core/rng.ts";
import { orderChecksum } from "../datasets/benchmark.ts";
import type { Task } from "../datasets/task.ts";
import type { Normalizer } from "../reward/normalize.ts";
import { scoreAll } from "../reward/score-all.ts";
import type { Scorer } from "../reward/scored.ts";
import type { Rolled, RollOptions } from "../rollout/groups.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { atPrices, type Prices } from "./cost.ts";
import { claim } from "./manifest.ts";
import { type EvalMetrics, metricsOf } from "./metrics.ts";
import { type EvalRecord, recordOf } from "./record.ts";
import { appendRecords, readRecords, writeRecords } from "./record-file.ts";
import { appendTimings } from "./timing.ts";

export type EvalMode = "greedy" | "sampled";

/** What one evaluation asks of `rollGroups`; the caller adds the policy, the environment and the rest. */
export type RollRequest = Required<
  Pick<RollOptions, "groupSize" | "minMembers" | "decoding" | "seed" | "step">
> &
  Pick<RollOptions, "signal" | "onEpisode">;
export type Roll = (tasks: readonly Task[], request: RollRequest) => Promise<Rolled>;

export interface EvaluateOptions {
  /** The benchmark's name. */
  readonly benchmark: string;
  /** Its questions in the recorded order: EM@k is over the first k. */
  readonly tasks: readonly Task[];
  readonly mode: EvalMode;
  /** Samples per question of `sampled`; greedy has one. */
  readonly samples: number;
  /** Decoding of `sampled`; greedy is temperature 0. */
  readonly decoding: RollOptions["decoding"];
  /** Updates the policy has had: a label, no draw depends on it. */
  readonly step: number;
  readonly seed: number;
  /** Episodes rolled and recorded together. Part of what makes results repeatable: keep it between attempts. */
  readonly episodesAtOnce: number;
  readonly roll: Roll;
  readonly scorer: Scorer;
  /** Where records.jsonl and result.json go. */
  readonly folder: string;
  /** What else the numbers depend on (policy, index, normaliser …): records made under another are refused. */
  readonly identity: Readonly<Record<string, string | number | boolean>>;
  /** The k of EM@k; default 50 and 100. */
  readonly emAt?: readonly number[];
  /** Largest share of episodes that infrastructure may break; default 0.05. */
  readonly maxInfraShare?: number;
  /** The scorer's: what makes answers comparable when they vote. Default SQuAD's. */
  readonly normalizer?: Normalizer;
  /** What tokens cost. Not part of the identity: records that are there already are priced anew. */
  readonly prices?: Prices | undefined;
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

export interface EvalResult extends EvalMetrics {
  readonly step: number;
  readonly mode: EvalMode;
  readonly benchmark: string;
}

/**
 * Evaluates any policy on one benchmark and returns the numbers. Questions are rolled in fixed chunks, each recorded
 * whole, so an evaluation that was killed continues where it stopped and ends with the same file as one that was not.
 * A chunk with an episode that infrastructure broke is rolled again the next time. When so many have failed that the
 * result cannot count, it stops early and returns `valid: false`.
 * @throws DataError when the folder holds another evaluation; the signal's reason when aborted.
 */
export async function evaluate(options: EvaluateOptions): Promise<EvalResult> {
  const { tasks, mode, folder, signal, emAt = [50, 100], maxInfraShare = 0.05 } = options;
  checkTasks(options.benchmark, tasks);
  const samples = mode === "greedy" ? 1 : options.samples;
  const total = tasks.length * samples;
  const order = tasks.map(({ id }) => id);
  claim(folder, {
    ...{ benchmark: options.benchmark, step: options.step, mode, samples, seed: options.seed },
    ...{ episodesAtOnce: options.episodesAtOnce, questions: tasks.length },
    order: orderChecksum(order),
    ...(mode === "sampled" ? options.decoding : {}),
    ...options.identity,
  });
  // The manifest's checksum vouches for it: the questions in the order that EM@k counts in.
  writeFileAtomic(join(folder, "order.json"), `${JSON.stringify(order, null, 1)}\n`);
  const path = join(folder, "records.jsonl");
  const chunks = chunksOf(tasks, Math.max(1, Math.floor(options.episodesAtOnce / samples)));
  const done = restore(path, chunks, samples);
  let finished = [...done.values()].flat().length;
  options.onProgress?.(finished, total);

  for (const chunk of chunks) {
    if (done.has(chunk.from)) continue;
    signal?.throwIfAborted();
    const failed = [...done.values()].flat().filter(({ valid }) => !valid).length;
    if (failed > maxInfraShare * total) break;
    const before = finished;
    const { records, episodes } = await rollChunk(chunk, options, samples, () =>
      options.onProgress?.(++finished, total),
    );
    signal?.throwIfAborted();
    finished = before + records.length;
    done.set(chunk.from, records);
    appendRecords(path, records);
    appendTimings(folder, episodes);
  }

  const records = chunks
    .flatMap(({ from }) => done.get(from) ?? [])
    .map((record) => atPrices(record, options.prices));
  // A chunk that was rolled again stands at the end of the file; the file ends in the benchmark's order.
  writeRecords(path, records);
  const { normalizer } = options;
  const metrics = metricsOf(records, {
    ...{ questions: tasks.length, samples, emAt, maxInfraShare },
    ...(normalizer && { normalizer }),
  });
  const result = { step: options.step, mode, benchmark: options.benchmark, ...metrics };
  writeFileAtomic(join(folder, "result.json"), `${JSON.stringify(result, null, 2)}\n`);
  return result;
}

interface Chunk {
  /** Place of its first question. */
  readonly from: number;
  readonly tasks: readonly Task[];
}

function chunksOf(tasks: readonly Task[], size: number): Chunk[] {
  return Array.from({ length: Math.ceil(tasks.length / size) }, (_, i) => ({
    from: i * size,
    tasks: tasks.slice(i * size, (i + 1) * size),
  }));
}

async function rollChunk(
  { from, tasks }: Chunk,
  { roll, scorer, mode, decoding, seed, benchmark, signal }: EvaluateOptions,
  samples: number,
  onEpisode: () => void,
): Promise<{ readonly records: EvalRecord[]; readonly episodes: readonly Trajectory[] }> {
  const rolled = await roll(tasks, {
    groupSize: samples,
    minMembers: 1,
    decoding: mode === "greedy" ? { temperature: 0, topP: 1, topK: 0 } : decoding,
    // The same draws at every step, so that two checkpoints differ by their weights alone.
    seed: seedOf(seed, "eval", benchmark),
    step: 0,
    onEpisode,
    ...(signal && { signal }),
  });
  signal?.throwIfAborted();
  const members = [...rolled.groups, ...rolled.tooFew].flatMap((group) => group.members);
  const places = new Map(tasks.map(({ id }, i) => [id, from + i]));
  const episodes = [...members, ...rolled.leftOut];
  const scored = await scoreAll(scorer, episodes, signal);
  const records = scored
    .map((trajectory) => recordOf(trajectory, places.get(trajectory.task.id) as number))
    .sort((a, b) => a.place - b.place || a.sample - b.sample);
  if (records.length === tasks.length * samples) return { records, episodes };
  throw new InvariantError({
    what: "a roll lost episodes",
    got: `${records.length}`,
    expected: `${tasks.length * samples}`,
  });
}

/** Chunks that an earlier attempt recorded whole and without failures, by place; the file keeps only those. */
function restore(path: string, chunks: readonly Chunk[], samples: number): Map<number, EvalRecord[]> {
  const { records, torn } = readRecords(path);
  const latest = new Map(records.map((record) => [`${record.sample} ${record.id}`, record]));
  const done = new Map<number, EvalRecord[]>();
  for (const { from, tasks } of chunks) {
    const found = tasks.flatMap(({ id }) =>
      Array.from({ length: samples }, (_, sample) => latest.get(`${sample} ${id}`)),
    );
    const whole = found.filter((record) => record?.valid === true) as EvalRecord[];
    if (whole.length === found.length) done.set(from, whole);
  }
  const kept = [...done.values()].flat();
  if (torn || kept.length !== records.length) writeRecords(path, kept);
  return done;
}

function checkTasks(benchmark: string, tasks: readonly Task[]): void {
  if (tasks.length === 0) throw new DataError({ what: `benchmark \`${benchmark}\` has no questions` });
  const ids = new Set<string>();
  for (const { id } of tasks) {
    if (ids.has(id))
      throw new DataError({ what: `benchmark \`${benchmark}\` has two questions with one id`, got: id });
    ids.add(id);
  }
}
