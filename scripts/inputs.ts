import type { Config } from "../configs/schema.ts";
import { CheckpointError } from "../core/errors.ts";
import { describeDropped, type LoadedTasks } from "../datasets/jsonl.ts";
import { type LoadedSource, loadBenchmark, loadSource } from "../datasets/load.ts";
import type { OwnDatasets } from "../datasets/own.ts";
import type { Task } from "../datasets/task.ts";
import { normalizerOf } from "../reward/normalize.ts";
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
import { type BenchmarkCard, cardOf, firstQuestions } from "./benchmark-card.ts";
import { corpusVocabulary } from "./corpus-vocabulary.ts";
import type { Output } from "./output.ts";

export interface Benchmark {
  readonly name: string;
  /** In the recorded order. */
  readonly tasks: readonly Task[];
  /** How it is asked: its own words, and those of `eval` where it has none. */
  readonly card: BenchmarkCard;
}

/** What a config names that is read whole: questions, tokens, weights. */
export interface Inputs {
  readonly train: LoadedSource;
  readonly benchmarks: readonly Benchmark[];
  readonly vocabulary: Vocabulary | undefined;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly start: Policy;
}

/** Prompts that are checked before the first step; past this a question that is too long stops the run when drawn. */
const mostPrompts = 20_000;

/** @throws ConfigError, DataError or CheckpointError for the first thing that is wrong */
export async function openInputs(
  config: Config,
  output: Output,
  datasets: OwnDatasets = {},
): Promise<Inputs> {
  const normalize = normalizerOf(config.reward.normalizer).normalize;
  const train = await loadSource(config.data.train, config.run.seed, normalize, datasets);
  if (train.loaded) tellDropped(output, "data.train", train.loaded);
  const benchmarks: Benchmark[] = [];
  for (const row of config.eval.benchmarks) {
    const loaded = await loadBenchmark(row.source, normalize, datasets);
    tellDropped(output, `benchmark ${row.name}`, loaded);
    const card = cardOf(config, row);
    benchmarks.push({ name: row.name, tasks: firstQuestions(config, row, loaded.tasks, card.seed), card });
  }

  const questions = [...(train.loaded?.tasks ?? []), ...benchmarks.flatMap((b) => b.tasks)];
  const vocabulary = config.model.tiny
    ? ((train.world?.vocabulary as Vocabulary | undefined) ??
      (await corpusVocabulary(config.search.corpus, questions)))
    : undefined;
  const tokenizer = vocabulary ? tinyTokenizer(vocabulary) : loadTokenizer(config.model.path as string);
  const renderer = createRenderer(
    tokenizer,
    config.rollout.prompt,
    config.model.path ? loadChatTemplate(config.model.path) : undefined,
  );
  const start = startPolicy(config, tokenizer);
  if (start.config.vocabSize < tokenizer.vocabSize)
    throw new CheckpointError({
      what: "the tokenizer has more tokens than the model",
      where: config.model.path ?? "model.tiny",
      got: `${tokenizer.vocabSize} tokens`,
      expected: `at most ${start.config.vocabSize}, the vocab_size of config.json`,
      next: "Use the tokenizer files that came with the model.",
    });
  checkPrompts(questions.slice(0, mostPrompts), renderer, tokenizer, start.config.contextTokens);
  return { train, benchmarks, vocabulary, tokenizer, renderer, start };
}

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

function tellDropped(output: Output, where: string, loaded: LoadedTasks): void {
  const text = describeDropped(loaded);
  if (text) output.warn(`${where}: ${text}`);
}
