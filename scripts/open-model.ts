import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { ConfigError } from "../core/errors.ts";
import { loadPolicy } from "../rl/policy/checkpoint.ts";
import { adapterFolder } from "../rl/policy/open-adapters.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { readCheckpointState } from "../rl/run-checkpoint.ts";
import { loadTokenizer } from "../rollout/hf-tokenizer.ts";
import { type ChatTemplate, loadChatTemplate } from "../rollout/renderer.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import { checkpointOf, policyOf } from "./checkpoint-of.ts";
import { tokenizerFiles } from "./tokenizer-files.ts";

/** A model with all that its folder says of it: no config is needed. */
export interface OpenModel {
  /** For clients: letters, digits, dots, dashes, underscores. */
  readonly name: string;
  /** The folder that its weights were read from. */
  readonly folder: string;
  readonly policy: Policy;
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate | undefined;
  /** Adapters over it, each with its folder, that go with it: a team's. */
  readonly adapters: readonly { readonly name: string; readonly folder: string }[];
}

/** What may be named, for --help and for errors. */
export const modelKinds = "a Hugging Face folder, a run folder or one of its checkpoints";

/**
 * Opens a model on its own. A LoRA checkpoint stays an adapter over its base model.
 * @param step of a run folder: the checkpoint after that many RL steps instead of the last
 * @throws ConfigError for what is none of `modelKinds`, CheckpointError or DataError for one that cannot be used
 */
export function openModel(path: string, step?: number): OpenModel {
  const isRun = has(path, "config.yaml") && has(path, "checkpoints");
  if (isRun || has(path, "state.json")) return fromCheckpoint(checkpointOf(path, step));
  if (step !== undefined)
    throw new ConfigError({
      what: "--step chooses a checkpoint of a run",
      got: path,
      next: "Give the run folder, or leave --step out.",
    });
  if (!has(path, "config.json")) throw notAModel(path);
  const policy = loadPolicy(path, { training: "full", seed: 0 });
  return { name: nameOf(basename(resolve(path))), folder: path, policy, adapters: [], ...wordsOf(path) };
}

function fromCheckpoint(folder: string): OpenModel {
  const state = readCheckpointState(folder);
  const names = Object.keys(state.adapters ?? {});
  if (names.length > 0 && state.training === "full") throw severalModels(folder, names);
  const opened = policyOf(folder, state);
  const run = basename(resolve(folder, "../.."));
  const words = wordsOf(tokenizerFiles(folder).length > 0 ? folder : (state.base ?? folder));
  return {
    ...{ name: nameOf(`${run}-${state.phase}-${state.step}`), folder, ...words },
    policy: names.length > 0 ? baseAlone(opened) : opened,
    adapters: names.map((name) => ({ name, folder: adapterFolder(folder, name) })),
  };
}

/** The base model without any of its adapters. */
const baseAlone = ({ config, frozen, version }: Policy): Policy => ({
  ...{ config, frozen: {}, trainable: frozen, version },
});

function severalModels(folder: string, names: readonly string[]): ConfigError {
  return new ConfigError({
    what: "the checkpoint holds a whole model for each of its adapters",
    where: folder,
    got: names.join(", "),
    expected: "one model",
    next: `Name one of them, a plain Hugging Face folder: ${adapterFolder(folder, names[0]!)}.`,
  });
}

function wordsOf(folder: string): Pick<OpenModel, "tokenizer" | "chatTemplate"> {
  return { tokenizer: loadTokenizer(folder), chatTemplate: loadChatTemplate(folder) };
}

const has = (path: string, name: string) => existsSync(join(path, name));
const nameOf = (text: string) => text.replace(/[^A-Za-z0-9._-]+/g, "-");

function notAModel(path: string): ConfigError {
  const adapter = has(path, "adapter_config.json");
  return new ConfigError({
    what: adapter
      ? "this is an adapter alone"
      : existsSync(path)
        ? "this is no model"
        : "there is no such model",
    where: path,
    expected: modelKinds,
    next: adapter
      ? "Name its base model, and the adapter with --adapter NAME=FOLDER."
      : "Check the path; `forager train` prints the folder of its run.",
  });
}
