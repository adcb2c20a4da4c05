import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import type { TaskSource } from "../datasets/batch.ts";
import type { NamedFamily } from "../datasets/families/families.ts";
import type { LoadedSource } from "../datasets/load.ts";
import type { Task } from "../datasets/task.ts";
import type { World } from "../datasets/world.ts";
import type { Params } from "../engine/array.ts";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import type { EnvConfig } from "../env/config.ts";
import type { Environment } from "../env/environment.ts";
import { researcher } from "../env/researcher.ts";
import { describeCorpus, hasManifest } from "../env/search/manifest.ts";
import { openRetriever } from "../env/search/open.ts";
import type { Retriever } from "../env/search/retriever.ts";
import {
  checkCreditedSeats,
  checkNeeds,
  checkTurnCredit,
  type Ground,
  lacksOf,
} from "../reward/check-needs.ts";
import { partNames } from "../reward/parts.ts";
import { planOf } from "../reward/plan.ts";
import type { Scorer } from "../reward/scored.ts";
import { makeScorer } from "../reward/scorer.ts";
import { openAuditor } from "../reward/team/audit.ts";
import { teamRulesOf } from "../reward/team/watch.ts";
import { algorithmOf } from "../rl/config.ts";
import type { Policy } from "../rl/policy/policy.ts";
import type { TeamWatch } from "../rl/team-watch.ts";
import type { EpisodeOptions } from "../rollout/episode.ts";
import type { Rolled } from "../rollout/groups.ts";
import type { Renderer, Tokenizer } from "../rollout/tokenizer.ts";
import type { Vocabulary } from "../rollout/vocabulary.ts";
import {
  agentEnvironment,
  agentOf,
  agentRewards,
  hasAgent,
  noRetriever,
  type OpenAgent,
  openAgent,
} from "./agents.ts";
import { type AnsweringParts, answeringOf, generatedOf } from "./answering.ts";
import type { Extensions } from "./extensions.ts";
import { type Benchmark, type Inputs, openInputs } from "./inputs.ts";
import type { Output } from "./output.ts";
import type { Progress } from "./progress.ts";
import { hasTeam, teamMaker, teamPlayers } from "./team.ts";

/** @param what names the policy's version, the questions and the draws: all that the episodes depend on in one run */
export type ShareEpisodes = (what: SharedBatch, play: () => Promise<Rolled>) => Promise<Rolled>;
export interface SharedBatch {
  readonly tasks: readonly Task[];
  readonly draws: Readonly<Record<string, unknown>>;
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
  /** @param env in place of the config's own section */
  readonly makeEnvironment: (retriever: Retriever, env?: EnvConfig) => Environment;
  readonly score: Scorer;
  /** What is looked for in a team's training episodes. */
  readonly watch: TeamWatch;
  readonly source: TaskSource;
  readonly trainTasks?: readonly Task[];
  readonly world?: World;
  readonly family?: NamedFamily;
  readonly benchmarks: readonly Benchmark[];
  /** Gives episodes that another run has played of the same policy with the same draws, else plays them. */
  readonly share?: ShareEpisodes;
  /** How episodes are played where an agent of the user's plays them: for `rollGroups`. */
  readonly episodes: Partial<OpenAgent["episodes"]> & Pick<EpisodeOptions, "players">;
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
  const score = openScorer(config, o.extensions, inputs);
  const watch = openWatch(config);
  const makeEnvironment = environmentMaker(config, o.extensions, inputs);
  const retriever = await openSearch(config, train, o);
  let agent: OpenAgent | undefined;
  try {
    const answering = await answeringOf(config, partsOf(retriever, makeEnvironment, inputs));
    checkSeats(config, answering.environment);
    const { tokenizer, start } = inputs;
    const players = teamPlayers(config, { tokenizer, train, ...start.config });
    const engine = await openEngine(config.engine);
    agent = await openAgent(config, o.extensions);
    return {
      ...opened,
      config,
      engine,
      ...answering,
      makeEnvironment,
      score,
      watch,
      episodes: { ...agent?.episodes, ...(players && { players }) },
      source: train.source,
      ...(vocabulary ? { vocabulary } : {}),
      ...(train.loaded ? { trainTasks: train.loaded.tasks } : {}),
      ...(train.world ? { world: train.world } : {}),
      ...(train.family ? { family: train.family } : {}),
      async close() {
        score.close?.();
        watch.auditor?.close();
        await agent?.close();
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
  const inputs = await openInputs(config, o.output, o.extensions?.datasets);
  const { train, benchmarks, tokenizer, start } = inputs;
  openScorer(config, o.extensions, inputs).close?.();
  openWatch(config).auditor?.close();
  const makeEnvironment = environmentMaker(config, o.extensions, inputs);
  if (hasAgent(config)) agentOf(config, o.extensions);
  teamPlayers(config, { tokenizer, train, ...start.config });
  const { index, corpus } = config.search;
  const unbuilt = index !== undefined && corpus !== undefined && !hasManifest(index);
  if (unbuilt) describeCorpus(corpus);
  else {
    const retriever = await openSearch(config, train, o);
    const { environment } = await answeringOf(config, partsOf(retriever, makeEnvironment, inputs)).finally(
      () => retriever.close(),
    );
    checkSeats(config, environment);
  }
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

function checkSeats({ rl }: Config, environment: Environment): void {
  if (rl.turnCredit > 0) checkCreditedSeats(environment);
}

/** What `answeringOf` composes of. */
export const partsOf = (
  engine: Retriever,
  makeEnvironment: Setup["makeEnvironment"],
  { train, benchmarks }: Pick<Inputs, "train" | "benchmarks">,
): AnsweringParts => ({
  engine,
  makeEnvironment,
  generated: generatedOf(train),
  questions: [
    ...(train.loaded ? [{ name: "data.train", tasks: train.loaded.tasks }] : []),
    ...benchmarks.map(({ name, tasks }) => ({ name: `benchmark ${name}`, tasks })),
  ],
});

/** The scorer, once it is sure that the environment and the questions can give what it is made of. */
function openScorer(
  config: Config,
  extensions: Extensions | undefined,
  { train, benchmarks }: Pick<Inputs, "train" | "benchmarks">,
): Scorer {
  const own = { ...extensions?.rewards, ...agentRewards(config) };
  const { filterMetric } = algorithmOf(config.rl);
  const names = ["reward", ...partNames, ...Object.keys(own)];
  if (names.includes(filterMetric)) {
    const kept = filterMetric === "reward" ? [] : [filterMetric];
    const reward = { ...config.reward, keep: [...config.reward.keep, ...kept] };
    const ground: Ground = {
      environment: config.env.name,
      lacks: lacksOf(config.env.name),
      questions: train.loaded ? [{ name: "data.train", tasks: train.loaded.tasks }] : [],
    };
    if (config.rl.turnCredit > 0) checkTurnCredit(ground);
    const asked = benchmarks.map(({ name, tasks }) => ({ name: `benchmark ${name}`, tasks }));
    checkNeeds(planOf(reward, own), { ...ground, questions: [...ground.questions, ...asked] });
    return makeScorer(reward, own);
  }
  const close = nearest(filterMetric, names);
  throw new ConfigError({
    what: `there is no reward part \`${filterMetric}\` to filter on`,
    where: "rl.filterMetric",
    expected: `one of ${names.join(", ")}`,
    next: close ? `Did you mean \`${close}\`?` : "Name one of these.",
  });
}

function openWatch({ reward, run }: Config): TeamWatch {
  const auditor = reward.audit && openAuditor(reward.audit, run.seed);
  return { rules: teamRulesOf(reward), ...(auditor && { auditor }) };
}

async function openSearch(
  config: Config,
  { world, family }: Pick<LoadedSource, "world" | "family">,
  { output, signal }: { output: Output; signal: AbortSignal },
): Promise<Retriever> {
  if (hasAgent(config)) return noRetriever;
  let bar: Progress | undefined;
  let told = 0;
  const retriever = await openRetriever(config.search, {
    passages: world?.passages ?? family?.family.passages,
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
  { tokenizer }: Pick<Inputs, "tokenizer">,
): Setup["makeEnvironment"] {
  const { env, run } = config;
  if (hasAgent(config)) return () => agentEnvironment;
  if (hasTeam(config)) return teamMaker(config, tokenizer);
  if (env.name === "researcher")
    return (retriever, changed = env) => researcher({ retriever, config: changed, seed: run.seed });
  const own = extensions?.environments?.[env.name];
  if (!own)
    throw new ConfigError({
      what: `there is no environment \`${env.name}\``,
      where: "env.name",
      expected: ["researcher", "team", ...Object.keys(extensions?.environments ?? {})].join(", "),
      next: "Name one of these, or add yours with defineForager({ environments }).",
    });
  return (retriever, changed = env) => own({ retriever, config: changed, seed: run.seed });
}
