import type { Config } from "../configs/schema.ts";
import { CheckpointError } from "../core/errors.ts";
import { describeDropped, type LoadedTasks } from "../datasets/jsonl.ts";
import { type LoadedSource, loadBenchmark, loadSource } from "../datasets/load.ts";
import type { OwnDatasets } from "../datasets/own.ts";
import type { Task } from "../datasets/task.ts";
import { openingsOf } from "../env/team/team.ts";
import { teamTokens } from "../env/team/vocabulary.ts";
import { normalizerOf } from "../reward/normalize.ts";
import { withAdapters } from "../rl/policy/adapters.ts";
import { loadPolicy, withContext } from "../rl/policy/checkpoint.ts";
import { loraOf, tinyModel, trainingOf } from "../rl/policy/config.ts";
import { growVocabulary } from "../rl/policy/grow-vocabulary.ts";
import { initPolicy } from "../rl/policy/init.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { loadTokenizer, ownVocabulary } from "../rollout/hf-tokenizer.ts";
import { checkPrompts } from "../rollout/prompt.ts";
import { createRenderer, loadChatTemplate } from "../rollout/renderer.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import type { Renderer, Tokenizer } from "../rollout/tokenizer.ts";
import { extendVocabulary, piecesOf, type Vocabulary } from "../rollout/vocabulary.ts";
import { type BenchmarkCard, cardOf, firstQuestions } from "./benchmark-card.ts";
import { corpusVocabulary } from "./corpus-vocabulary.ts";
import type { Output } from "./output.ts";
import { checkTeamPrompt, hasTeam, teamOf } from "./team.ts";
import { adaptersOf } from "./team-adapters.ts";

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
  const { data, run, rl } = config;
  const train = await loadSource(data.train, run.seed, normalize, datasets, rl.steps);
  if (train.loaded) tellDropped(output, "data.train", train.loaded);
  const benchmarks: Benchmark[] = [];
  for (const row of config.eval.benchmarks) {
    const loaded = await loadBenchmark(row.source, normalize, datasets);
    tellDropped(output, `benchmark ${row.name}`, loaded);
    const card = cardOf(config, row);
    benchmarks.push({ name: row.name, tasks: firstQuestions(config, row, loaded.tasks, card.seed), card });
  }

  const questions = [...(train.loaded?.tasks ?? []), ...benchmarks.flatMap((b) => b.tasks)];
  const family = train.family?.family.vocabulary();
  const small = config.model.tiny
    ? (((train.world?.vocabulary ?? family) as Vocabulary | undefined) ??
      (await corpusVocabulary(config.search.corpus, questions)))
    : ownVocabulary(config.model.path as string);
  const needed = [...(hasTeam(config) ? [teamTokens] : []), ...(family ? [family] : [])];
  const wider = small && needed.length > 0 ? needed.reduce(extendVocabulary, small) : small;
  // A model folder's own vocabulary is a file in it: only a changed one has to be written anew.
  const vocabulary = config.model.tiny || wider !== small ? wider : undefined;
  const tokenizer = vocabulary ? tinyTokenizer(vocabulary) : loadTokenizer(config.model.path as string);
  const chat = config.model.path ? loadChatTemplate(config.model.path) : undefined;
  const renderer = createRenderer(tokenizer, config.rollout.prompt, chat);
  if (hasTeam(config)) checkTeamPrompt(config, chat);
  const single = widened(startPolicy(config, tokenizer), { from: small, to: vocabulary, tokenizer, config });
  const start = withAdapters(single, adaptersOf(config));
  if (start.config.vocabSize < tokenizer.vocabSize)
    throw new CheckpointError({
      what: "the tokenizer has more tokens than the model",
      where: config.model.path ?? "model.tiny",
      got: `${tokenizer.vocabSize} tokens`,
      expected: `at most ${start.config.vocabSize}, the vocab_size of config.json`,
      next: "Use the tokenizer files that came with the model.",
    });
  for (const words of hasTeam(config) ? openingsOf(teamOf(config)) : [undefined])
    checkPrompts(questions.slice(0, mostPrompts), renderer, tokenizer, start.config.contextTokens, words);
  return { train, benchmarks, vocabulary, tokenizer, renderer, start };
}

/** A model of ours learns the tokens that it lacks; a tiny policy is made with all of them. */
function widened(
  policy: Policy,
  o: {
    readonly from: Vocabulary | undefined;
    readonly to: Vocabulary | undefined;
    readonly tokenizer: Tokenizer;
    readonly config: Config;
  },
): Policy {
  const { from, to, tokenizer, config } = o;
  if (config.model.tiny || !from || !to) return policy;
  const { eosIds, padId } = tokenizer;
  return growVocabulary(policy, {
    ...{ from: piecesOf(from), to: piecesOf(to), eosIds, padId },
    seed: config.run.seed,
  });
}

/** The policy as the config says: a folder's weights, or random ones of our own shape. */
export function startPolicy({ model, run, sft }: Config, tokenizer: Tokenizer): Policy {
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
  // A small policy of ours learns to read further in its warm-up.
  const longer = model.path !== undefined && sft.steps > 0 && ownVocabulary(model.path) !== undefined;
  return withContext(policy, model.contextTokens, longer);
}

function tellDropped(output: Output, where: string, loaded: LoadedTasks): void {
  const text = describeDropped(loaded);
  if (text) output.warn(`${where}: ${text}`);
}
