import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import type { TaskSource } from "../datasets/batch.ts";
import { benchmarkOrder, inOrder } from "../datasets/benchmark.ts";
import { describeDropped, type LoadedTasks } from "../datasets/jsonl.ts";
import { loadBenchmark, loadSource } from "../datasets/load.ts";
import type { Task } from "../datasets/task.ts";
import type { World } from "../datasets/world.ts";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import type { Environment } from "../env/environment.ts";
import { researcher } from "../env/researcher.ts";
import { openRetriever } from "../env/search/open.ts";
import type { Retriever } from "../env/search/retriever.ts";
import { normalizerOf } from "../reward/normalize.ts";
import type { Scorer } from "../reward/scored.ts";
import { makeScorer } from "../reward/scorer.ts";
import { loadPolicy, withContext } from "../rl/policy/checkpoint.ts";
import { loraOf, tinyModel, trainingOf } from "../rl/policy/config.ts";
import { initPolicy } from "../rl/policy/init.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { loadTokenizer } from "../rollout/hf-tokenizer.ts";
import { checkPrompts } from "../rollout/prompt.ts";
import { createRenderer, loadChatTemplate } from "../rollout/renderer.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import type { Renderer, Tokenizer } from "../rollout/tokenizer.ts";
import type { Vocabulary } from "../rollout/vocabulary.ts";
import { corpusVocabulary } from "./corpus-vocabulary.ts";
import type { Extensions } from "./extensions.ts";
import type { Output } from "./output.ts";
import type { Progress } from "./progress.ts";

export interface Benchmark {
  readonly name: string;
  /** In the recorded order. */
  readonly tasks: readonly Task[];
}

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
 * Opens what a config names, in the order in which things are cheap to check: data, tokenizer, index, weights.
 * @throws ConfigError, DataError or CheckpointError before the first token
 */
export async function openSetup(
  config: Config,
  o: { output: Output; signal: AbortSignal; extensions?: Extensions },
): Promise<Setup> {
  const { output, signal, extensions } = o;
  const normalize = normalizerOf(config.reward.normalizer).normalize;
  const train = await loadSource(config.data.train, config.run.seed, normalize);
  if (train.loaded) tellDropped(output, "data.train", train.loaded);
  const benchmarks: Benchmark[] = [];
  for (const { name, source, limit } of config.eval.benchmarks) {
    const loaded = await loadBenchmark(source, normalize);
    tellDropped(output, `benchmark ${name}`, loaded);
    const order = benchmarkOrder(loaded.tasks, config.eval.seed);
    benchmarks.push({ name, tasks: inOrder(loaded.tasks, order.slice(0, limit ?? order.length)) });
  }

  const questions = [...(train.loaded?.tasks ?? []), ...benchmarks.flatMap((b) => b.tasks)];
  const vocabulary = config.model.tiny
    ? ((train.world?.vocabulary as Vocabulary | undefined) ??
      (await corpusVocabulary(config.search.corpus, questions)))
    : undefined;
  const tokenizer = vocabulary ? tinyTokenizer(vocabulary) : loadTokenizer(modelPath(config));
  const renderer = createRenderer(
    tokenizer,
    config.rollout.prompt,
    config.model.path ? loadChatTemplate(config.model.path) : undefined,
  );

  let bar: Progress | undefined;
  let told = 0;
  const retriever = await openRetriever(config.search, {
    passages: train.world?.passages,
    signal,
    onProgress: ({ passages, total }) => {
      bar ??= output.progress("building the index", total);
      bar.tick(passages - told);
      told = passages;
    },
  });
  bar?.done();

  const start = startPolicy(config, tokenizer);
  const contextTokens = start.config.contextTokens;
  checkPrompts(questions.slice(0, 20_000), renderer, tokenizer, contextTokens);
  const makeEnvironment = environmentMaker(config, extensions);
  const engine = await openEngine(config.engine);
  return {
    config,
    engine,
    start,
    tokenizer,
    renderer,
    retriever,
    benchmarks,
    makeEnvironment,
    ...(vocabulary ? { vocabulary } : {}),
    environment: makeEnvironment(retriever),
    score: makeScorer(config.reward, extensions?.rewards),
    source: train.source,
    ...(train.loaded ? { trainTasks: train.loaded.tasks } : {}),
    ...(train.world ? { world: train.world } : {}),
    async close() {
      await retriever.close();
      await engine.dispose();
    },
  };
}

const modelPath = (config: Config): string => config.model.path as string;

/** The policy as the config says: a folder's weights, or random ones of our own shape. */
export function startPolicy({ model, run }: Config, tokenizer: Tokenizer): Policy {
  const policy = model.tiny
    ? initPolicy(
        tinyModel(model.tiny, {
          size: tokenizer.vocabSize,
          eosIds: tokenizer.eosIds,
          padId: tokenizer.padId,
        }),
        run.seed,
      )
    : loadPolicy(model.path as string, {
        training: trainingOf(model) === "full" ? "full" : loraOf(model)!,
        adapter: model.adapter,
        seed: run.seed,
      });
  return withContext(policy, model.contextTokens);
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

function tellDropped(output: Output, where: string, loaded: LoadedTasks): void {
  const text = describeDropped(loaded);
  if (text) output.warn(`${where}: ${text}`);
}

/** Files that make a model folder's tokenizer, to be copied beside the weights we write. */
export function tokenizerFiles(folder: string): string[] {
  const names = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "vocabulary.json",
    "vocab.json",
    "merges.txt",
  ];
  if (!existsSync(folder)) return [];
  const present = new Set(readdirSync(folder));
  return names.filter((name) => present.has(name)).map((name) => join(folder, name));
}
