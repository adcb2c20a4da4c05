import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import type { TaskSource } from "../datasets/batch.ts";
import type { Task } from "../datasets/task.ts";
import type { World } from "../datasets/world.ts";
import type { Params } from "../engine/array.ts";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import type { Environment } from "../env/environment.ts";
import { researcher } from "../env/researcher.ts";
import { describeCorpus, hasManifest } from "../env/search/manifest.ts";
import { openRetriever } from "../env/search/open.ts";
import type { Retriever } from "../env/search/retriever.ts";
import { partNames } from "../reward/parts.ts";
import type { Scorer } from "../reward/scored.ts";
import { makeScorer } from "../reward/scorer.ts";
import { algorithmOf } from "../rl/config.ts";
import type { Policy } from "../rl/policy/policy.ts";
import type { Renderer, Tokenizer } from "../rollout/tokenizer.ts";
import type { Vocabulary } from "../rollout/vocabulary.ts";
import type { Extensions } from "./extensions.ts";
import { type Benchmark, openInputs } from "./inputs.ts";
import type { Output } from "./output.ts";
import type { Progress } from "./progress.ts";

/** Everything that a config names, opened and checked. */
export interface Setup {
  readonly config: Config;
  readonly engine: Engine;
  /** The policy that the config starts from, version 0. */
  readonly start: Policy;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  /** The vocabulary of a tiny policy; a real model's tokenizer is files in its folder. */
  readonly vocabulary?: Vocabulary;
  readonly retriever: Retriever;
  readonly environment: Environment;
  readonly makeEnvironment: (retriever: Retriever) => Environment;
  readonly score: Scorer;
  readonly source: TaskSource;
  readonly trainTasks?: readonly Task[];
  readonly world?: World;
  readonly benchmarks: readonly Benchmark[];
  close(): Promise<void>;
}

/**
 * Opens what a config names, in the order in which things are cheap to check: data, tokenizer, weights, names, index.
 * @throws ConfigError, DataError or CheckpointError before the first token
 */
export async function openSetup(
  config: Config,
  o: { output: Output; signal: AbortSignal; extensions?: Extensions | undefined },
): Promise<Setup> {
  const inputs = await openInputs(config, o.output, o.extensions?.datasets);
  const { train, vocabulary, ...opened } = inputs;
  const score = openScorer(config, o.extensions);
  const makeEnvironment = environmentMaker(config, o.extensions);
  const retriever = await openSearch(config, train.world, o);
  try {
    const engine = await openEngine(config.engine);
    return {
      ...opened,
      config,
      engine,
      retriever,
      makeEnvironment,
      environment: makeEnvironment(retriever),
      score,
      source: train.source,
      ...(vocabulary ? { vocabulary } : {}),
      ...(train.loaded ? { trainTasks: train.loaded.tasks } : {}),
      ...(train.world ? { world: train.world } : {}),
      async close() {
        await retriever.close();
        await engine.dispose();
      },
    };
  } catch (error) {
    await retriever.close();
    throw error;
  }
}

/**
 * Checks all that `openSetup` checks and makes nothing: an index that is not there yet is not built.
 * @returns what was found, a line each, for people
 */
export async function checkSetup(
  config: Config,
  o: { output: Output; signal: AbortSignal; extensions?: Extensions | undefined },
): Promise<string[]> {
  const { train, benchmarks, tokenizer, start } = await openInputs(config, o.output, o.extensions?.datasets);
  openScorer(config, o.extensions);
  environmentMaker(config, o.extensions);
  const { index, corpus } = config.search;
  const unbuilt = index !== undefined && corpus !== undefined && !hasManifest(index);
  if (unbuilt) describeCorpus(corpus);
  else await (await openSearch(config, train.world, o)).close();
  await (await openEngine(config.engine)).dispose();
  const count = (params: Params) => Object.values(params).reduce((n, { data }) => n + data.length, 0);
  const [learning, fixed] = [count(start.trainable), count(start.frozen)];
  return [
    `model: ${learning + fixed} parameters, ${learning} of them trained; ${tokenizer.vocabSize} tokens; context ${start.config.contextTokens}`,
    `training questions: ${train.loaded ? train.loaded.tasks.length : "drawn from the synthetic world"}`,
    ...benchmarks.map(({ name, tasks }) => `benchmark ${name}: ${tasks.length} questions`),
    ...(unbuilt ? [`the index ${index} would be built from ${corpus}`] : []),
  ];
}

function openScorer({ reward, rl }: Config, extensions: Extensions | undefined): Scorer {
  const score = makeScorer(reward, extensions?.rewards);
  const { filterMetric } = algorithmOf(rl);
  const names = ["reward", ...partNames, ...Object.keys(extensions?.rewards ?? {})];
  if (names.includes(filterMetric)) return score;
  const close = nearest(filterMetric, names);
  throw new ConfigError({
    what: `there is no reward part \`${filterMetric}\` to filter on`,
    where: "rl.filterMetric",
    expected: `one of ${names.join(", ")}`,
    next: close ? `Did you mean \`${close}\`?` : "Name one of these.",
  });
}

async function openSearch(
  { search }: Config,
  world: World | undefined,
  { output, signal }: { output: Output; signal: AbortSignal },
): Promise<Retriever> {
  let bar: Progress | undefined;
  let told = 0;
  const retriever = await openRetriever(search, {
    passages: world?.passages,
    signal,
    onProgress: ({ passages, total }) => {
      bar ??= output.progress("building the index", total);
      bar.tick(passages - told);
      told = passages;
    },
  });
  bar?.done();
  return retriever;
}

function environmentMaker(
  config: Config,
  extensions: Extensions | undefined,
): (retriever: Retriever) => Environment {
  const { env, run } = config;
  if (env.name === "researcher") return (retriever) => researcher({ retriever, config: env, seed: run.seed });
  const own = extensions?.environments?.[env.name];
  if (!own)
    throw new ConfigError({
      what: `there is no environment \`${env.name}\``,
      where: "env.name",
      expected: ["researcher", ...Object.keys(extensions?.environments ?? {})].join(", "),
      next: "Name one of these, or add yours with defineForager({ environments }).",
    });
  return (retriever) => own({ retriever, config: env, seed: run.seed });
}
