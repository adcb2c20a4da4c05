import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { CheckpointError, ConfigError } from "../core/errors.ts";
import type { Roll } from "../eval/evaluate.ts";
import { createPolicySampler } from "../rl/policy/adapter-sampler.ts";
import { firstView } from "../rl/policy/adapters.ts";
import { loadPolicy, withContext } from "../rl/policy/checkpoint.ts";
import { openAdapters } from "../rl/policy/open-adapters.ts";
import { readAdapter } from "../rl/policy/peft.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import { readCheckpointState } from "../rl/run-checkpoint.ts";
import { rollGroups } from "../rollout/groups.ts";
import type { BatchSampler, Sampler } from "../rollout/sampler.ts";
import { checkpointOf, checkSameWeights } from "./checkpoint-of.ts";
import type { Extensions } from "./extensions.ts";
import type { Output } from "./output.ts";
import { checkModel, checkTokenizer } from "./same-model.ts";
import type { Setup } from "./setup.ts";
import { adaptersOf, seatAdapters } from "./team-adapters.ts";

/** A policy to be looked at: it plays, and is never trained. */
export interface OpenPolicy {
  /** For folder names: letters, digits, dots, dashes, underscores. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  /** Updates of reinforcement learning it has had; 0 where nobody knows. */
  readonly step: number;
  /** Names its weights: a SHA-256, or `own NAME` for a user's sampler. */
  readonly weights: string;
  /** Of our own kinds. */
  readonly weightsSha256?: string;
  readonly roll: Roll;
  close(): Promise<void>;
}

/** What `--policy` may name, for --help and for errors. */
export const policyKinds = "a run folder, one of its checkpoints, a Hugging Face folder or a PEFT adapter";

/**
 * Opens what `--policy` names; without it the policy that the config starts from. The model and the tokens must be
 * those of the config.
 * @param o.step of a run folder, the checkpoint after that many RL steps instead of the last
 * @throws ConfigError for what is none of `policyKinds`; CheckpointError for one that does not fit the config
 */
export async function openPolicy(
  spec: string | undefined,
  setup: Setup,
  o: { step?: number | undefined; extensions?: Extensions } = {},
): Promise<OpenPolicy> {
  checkPolicy(spec, o);
  if (spec === undefined) {
    const { path } = setup.config.model;
    return ours(setup, setup.start, {
      name: "start",
      label: path === undefined ? "the config's model, random weights" : `the config's model, ${path}`,
      step: 0,
    });
  }
  const own = o.extensions?.samplers?.[spec];
  if (own) {
    const sampler = await own({ tokenizer: setup.tokenizer });
    return {
      ...{ name: spec, label: `own sampler ${spec}`, step: 0, weights: `own ${spec}` },
      roll: roller(setup, sampler),
      async close() {},
    };
  }
  return kindOf(spec, o.extensions).open(spec, setup, o.step);
}

/** What can be said of `--policy` and `--step` before anything is opened. @throws ConfigError, CheckpointError */
export function checkPolicy(
  spec: string | undefined,
  o: { step?: number | undefined; extensions?: Extensions },
): void {
  if (o.step !== undefined && (spec === undefined || !isRun(spec)))
    throw new ConfigError({
      what: "--step chooses a checkpoint of a run",
      got: spec === undefined ? "no --policy" : `--policy ${spec}`,
      next: "Give the run folder with --policy.",
    });
  if (spec === undefined || o.extensions?.samplers?.[spec]) return;
  kindOf(spec, o.extensions);
  if (isRun(spec)) checkpointOf(spec, o.step);
}

/** Says so when a run's own config would be played with the weights that the run started from. */
export function tellStart(config: string, spec: string | undefined, output: Output): void {
  const run = dirname(config);
  if (spec === undefined && basename(config) === "config.yaml" && isRun(run))
    output.warn(`this is the model that the run started from; what it became is --policy ${run}`);
}

interface Kind {
  readonly is: (path: string) => boolean;
  readonly open: (path: string, setup: Setup, step?: number) => OpenPolicy;
}

function kindOf(path: string, extensions: Extensions | undefined): Kind {
  const kind = kinds.find(({ is }) => is(path));
  if (kind) return kind;
  throw notAPolicy(path, extensions);
}

const isRun = (path: string) => has(path, "config.yaml") && has(path, "checkpoints");
const has = (path: string, name: string) => existsSync(join(path, name));

/** In this order: a checkpoint of a run is a Hugging Face folder too. */
const kinds: readonly Kind[] = [
  { is: (path) => isRun(path) || has(path, "state.json"), open: fromCheckpoint },
  { is: (path) => has(path, "config.json"), open: fromModel },
  // The adapter in a checkpoint of ours: the checkpoint knows its base model.
  {
    is: (path) => has(path, "../state.json"),
    open: (path, setup) => fromCheckpoint(join(path, ".."), setup),
  },
  { is: (path) => has(path, "adapter_config.json"), open: fromAdapter },
];

function fromCheckpoint(spec: string, setup: Setup, step?: number): OpenPolicy {
  const path = checkpointOf(spec, step);
  const state = readCheckpointState(path);
  checkTokenizer(path, setup);
  const open = (folder: string) =>
    state.training === "lora" ? adaptedAt(folder, state.base, setup) : loadPolicy(folder, whole);
  const adapters = Object.keys(state.adapters ?? {});
  if (adapters.length > 0) checkRoles(adapters, setup, path);
  const policy =
    adapters.length > 0
      ? openAdapters(path, adapters, open)
      : open(state.training === "lora" ? join(path, "adapter") : path);
  checkModel(policy.config, setup.start.config, path);
  checkSameWeights(policy, state, path);
  const run = basename(resolve(path, "../.."));
  return ours(
    setup,
    { ...policy, config: setup.start.config, version: state.version },
    {
      name: `${run}-${state.phase}-${state.step}`,
      label: `${path} (${state.phase} step ${state.step})`,
      step: state.phase === "rl" ? state.step : 0,
    },
  );
}

/** Each role of the config is played by one of the checkpoint's adapters. @throws CheckpointError */
function checkRoles(adapters: readonly string[], { config }: Setup, path: string): void {
  const asked = adaptersOf(config);
  if (asked.length > 1 && asked.every((name) => adapters.includes(name))) return;
  throw new CheckpointError({
    what: "the config's roles do not play by this checkpoint's adapters",
    where: path,
    got: adapters.join(", "),
    expected: asked.join(", ") || "one policy",
    next: `Use the config of its run, or one of the adapters alone: --policy ${join(path, "adapters", adapters[0]!)}.`,
  });
}

function fromModel(path: string, setup: Setup): OpenPolicy {
  checkTokenizer(path, setup);
  const policy = withContext(loadPolicy(path, whole), setup.config.model.contextTokens);
  if (policy.config.vocabSize < setup.tokenizer.vocabSize)
    throw new CheckpointError({
      what: "the model has fewer tokens than the config's tokenizer",
      where: path,
      got: `${policy.config.vocabSize}`,
      expected: `${setup.tokenizer.vocabSize} or more`,
      next: "Name the model as model.path, so that its own tokenizer is used.",
    });
  return ours(setup, policy, { name: basename(resolve(path)), label: path, step: 0 });
}

function fromAdapter(path: string, setup: Setup): OpenPolicy {
  return ours(setup, adapted(path, setup), { name: basename(resolve(path)), label: path, step: 0 });
}

const whole = { training: "full", seed: 0 } as const;

/** A LoRA checkpoint over the base model that it names, or over the config's, which may be the same one moved. */
function adaptedAt(adapter: string, base: string | undefined, setup: Setup): Policy {
  return base !== undefined && base !== setup.config.model.path && has(base, "config.json")
    ? loadPolicy(base, { training: "lora", adapter, seed: 0 })
    : adapted(adapter, setup);
}

/** An adapter over the config's base weights, whatever adapter the config itself would train. */
function adapted(folder: string, { start }: Setup): Policy {
  const { lora, params } = readAdapter(folder, start.config);
  const base = start.lora ? start.frozen : firstView(start).trainable;
  return { config: start.config, frozen: base, trainable: params, lora, version: 0 };
}

function ours(setup: Setup, policy: Policy, is: Pick<OpenPolicy, "name" | "label" | "step">): OpenPolicy {
  const { engine, tokenizer, config } = setup;
  const sha = weightsSha256(policy);
  const { maxRows } = config.rollout;
  const sampler = createPolicySampler({
    ...{ engine, policy, tokenizer, maxRows },
    adapterOf: seatAdapters(config),
  });
  return {
    ...is,
    name: is.name.replace(/[^A-Za-z0-9._-]+/g, "-"),
    weights: sha,
    weightsSha256: sha,
    roll: roller(setup, sampler),
    async close() {
      sampler.dispose();
    },
  };
}

/** Plays by a sampler what the config says of episodes. */
export function roller(setup: Setup, policy: Sampler | BatchSampler): Roll {
  const { environment, tokenizer, renderer } = setup;
  const common = { ...setup.config.rollout, ...setup.episodes, environment, policy, tokenizer, renderer };
  return (tasks, request) => rollGroups(tasks, { ...common, ...request });
}

function notAPolicy(spec: string, extensions: Extensions | undefined): ConfigError {
  const names = Object.keys(extensions?.samplers ?? {});
  return new ConfigError({
    what: existsSync(spec) ? "this is no policy" : "there is no such policy",
    where: `--policy ${spec}`,
    expected: [policyKinds, ...(names.length > 0 ? [`one of your samplers: ${names.join(", ")}`] : [])].join(
      "; ",
    ),
    next: /^[a-z]+:\/\//i.test(spec)
      ? "A policy behind a URL is named with --endpoint."
      : "Check the path; `forager train` prints the folder of its run.",
  });
}
