import { type TaskSource, taskSource } from "./batch.ts";
import type { BenchmarkConfig, SourceConfig } from "./config.ts";
import { curricula } from "./curriculum.ts";
import { type LoadedTasks, readTasks } from "./jsonl.ts";
import { type OwnDatasets, readOwn } from "./own.ts";
import { worldSource, worldTasks } from "./world/tasks.ts";
import { makeWorld, type World } from "./world.ts";

type Normalize = (answer: string) => string;

export interface LoadedSource {
  readonly source: TaskSource;
  /** Of the synthetic world: its pages are the corpus. */
  readonly world?: World;
  /** Of a file, or of the user's own code. */
  readonly loaded?: LoadedTasks;
}

/**
 * Opens a training source.
 * @param seed the run's: it orders the batches
 * @param normalize the reward's normaliser
 * @param own data sets added by name
 */
export async function loadSource(
  config: SourceConfig,
  seed: number,
  normalize: Normalize,
  own: OwnDatasets = {},
): Promise<LoadedSource> {
  if (config.kind !== "world") {
    const loaded = await (config.kind === "own"
      ? readOwn(config.name, own, normalize)
      : readTasks({ ...config, normalize }));
    return { loaded, source: taskSource(loaded.tasks, seed) };
  }
  const { split, hopMix, ramp } = config;
  const world = makeWorld(config);
  const curriculum = ramp ? curricula.ramp(hopMix, ramp.to, ramp.steps) : curricula.mix(hopMix);
  return { world, source: worldSource({ world, split, curriculum, seed }) };
}

/** Loads a benchmark's questions, in no particular order: see `benchmarkOrder`. */
export async function loadBenchmark(
  config: BenchmarkConfig,
  normalize: Normalize,
  own: OwnDatasets = {},
): Promise<LoadedTasks> {
  if (config.kind === "own") return readOwn(config.name, own, normalize);
  if (config.kind !== "world") return readTasks({ ...config, normalize });
  const { seed, clusters, split, n, hopMix } = config;
  // Drawn by the world's own seed: every run is asked the same questions.
  const tasks = worldTasks({ world: makeWorld({ seed, clusters }), split, n, hopMix, seed });
  return { tasks, dropped: [], droppedAliases: [] };
}
