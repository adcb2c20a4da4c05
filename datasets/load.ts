import type { TaskSource } from "./batch.ts";
import type { BenchmarkConfig, SourceConfig } from "./config.ts";
import { type Curriculum, curricula, easyPlace, onlyHops } from "./curriculum.ts";
import type { NamedFamily } from "./families/families.ts";
import { familyOf, hopMixOf, levelMix } from "./families/load.ts";
import { familySource, familyTasks } from "./families/tasks.ts";
import { guidedSource } from "./guided.ts";
import { type LoadedTasks, readTasks } from "./jsonl.ts";
import { type OwnDatasets, readOwn } from "./own.ts";
import { worldSource, worldTasks } from "./world/tasks.ts";
import { makeWorld, type World } from "./world.ts";

type Normalize = (answer: string) => string;

export interface LoadedSource {
  readonly source: TaskSource;
  /** Of the synthetic world: its pages are the corpus. */
  readonly world?: World;
  /** Of generated tasks: its passages are the corpus. Search questions are the world's. */
  readonly family?: NamedFamily;
  /** Of a file, of the user's own code, or a fixed number of generated tasks. */
  readonly loaded?: LoadedTasks;
}

/**
 * Opens a training source.
 * @param seed the run's: it orders the batches
 * @param normalize the reward's normaliser
 * @param own data sets added by name
 * @param steps of RL, for curricula that are shares of them
 */
export async function loadSource(
  config: SourceConfig,
  seed: number,
  normalize: Normalize,
  own: OwnDatasets = {},
  steps = 0,
): Promise<LoadedSource> {
  if (config.kind === "family") return openFamilySource(config, seed, steps);
  if (config.kind !== "world") {
    const loaded = await (config.kind === "own"
      ? readOwn(config.name, own, normalize)
      : readTasks({ ...config, normalize }));
    return { loaded, source: guidedSource(loaded.tasks, seed, { ...config, steps }) };
  }
  const { split, hopMix, ramp, easyFirst } = config;
  const world = makeWorld(config);
  const later = ramp ? curricula.ramp(hopMix, ramp.to, ramp.steps) : curricula.mix(hopMix);
  const curriculum: Curriculum = easyFirst
    ? curricula.easyFirst(onlyHops(hopMix, easyFirst.hops), later, easyPlace(easyFirst, steps))
    : later;
  return { world, source: worldSource({ world, split, curriculum, seed }) };
}

type FamilySource = Extract<SourceConfig, { kind: "family" }>;

function openFamilySource(config: FamilySource, seed: number, steps: number): LoadedSource {
  const { split, n, difficulty, family: name } = config;
  if (name === "search") {
    const world = makeWorld({ seed: config.seed, clusters: searchClusters });
    const hopMix = hopMixOf(difficulty);
    if (n === undefined) {
      const mix = levelMix(difficulty, { ...config, steps });
      const curriculum: Curriculum = (step, harder) => {
        const [one = 0, two = 0, three = 0] = mix(step, harder);
        return { 1: one, 2: two, 3: three };
      };
      return { world, source: worldSource({ world, split, curriculum, seed }) };
    }
    const loaded = whole(worldTasks({ world, split, n, hopMix, seed: config.seed }));
    return { world, loaded, source: guidedSource(loaded.tasks, seed, { ...config, steps }) };
  }
  const family = familyOf({ ...config, family: name });
  if (n === undefined) {
    const mix = levelMix(difficulty, { ...config, steps });
    return { family, source: familySource({ family: family.family, split, mix, seed }) };
  }
  const loaded = whole(familyTasks({ family: family.family, split, n, difficulty }));
  return { family, loaded, source: guidedSource(loaded.tasks, seed, { ...config, steps }) };
}

/** Clusters of the world that stands for the family of search questions. */
const searchClusters = 400;

const whole = (tasks: LoadedTasks["tasks"]): LoadedTasks => ({ tasks, dropped: [], droppedAliases: [] });

/** Loads a benchmark's questions, in no particular order: see `benchmarkOrder`. */
export async function loadBenchmark(
  config: BenchmarkConfig,
  normalize: Normalize,
  own: OwnDatasets = {},
): Promise<LoadedTasks> {
  if (config.kind === "own") return readOwn(config.name, own, normalize);
  if (config.kind === "family") {
    const { seed, split, n, difficulty, family: name } = config;
    if (name !== "search")
      return whole(
        familyTasks({ family: familyOf({ ...config, family: name }).family, split, n, difficulty }),
      );
    const world = makeWorld({ seed, clusters: searchClusters });
    return whole(worldTasks({ world, split, n, hopMix: hopMixOf(difficulty), seed }));
  }
  if (config.kind !== "world") return readTasks({ ...config, normalize });
  const { seed, clusters, split, n, hopMix } = config;
  // Drawn by the world's own seed: every run is asked the same questions.
  const tasks = worldTasks({ world: makeWorld({ seed, clusters }), split, n, hopMix, seed });
  return whole(tasks);
}
