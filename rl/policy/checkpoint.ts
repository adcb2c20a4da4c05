import { existsSync } from "node:fs";
import { join } from "node:path";
import { CheckpointError, InvariantError } from "../../core/errors.ts";
import { writeFileAtomic } from "../../core/files.ts";
import type { Arr, Params } from "../../engine/array.ts";
import { openSafetensors, writeSafetensors } from "../../engine/safetensors.ts";
import { checkShapes } from "./check.ts";
import { readHfConfig } from "./hf-config.ts";
import { toHfConfig, toHfGenerationConfig } from "./hf-write.ts";
import { initLora, type LoraConfig } from "./lora.ts";
import { mergeLora } from "./merge-lora.ts";
import { type ModelConfig, weightShapes } from "./model-config.ts";
import { readAdapter } from "./peft.ts";
import type { Policy } from "./policy.ts";

export interface LoadOptions {
  /** Train every weight; or low-rank updates with these settings, or ("lora") with those of `adapter`. */
  readonly training: "full" | "lora" | LoraConfig;
  /** PEFT folder to start from; with `full` it is merged into the weights. */
  readonly adapter?: string | undefined;
  /** Draws the A matrices of a fresh adapter. */
  readonly seed: number;
}

/** Weights some exporters leave in a checkpoint that the model computes itself. */
const derived = /\.rotary_emb\.inv_freq$/;

/**
 * Loads a Hugging Face folder as version 0 of a policy: config.json in either dialect, safetensors in one file or
 * shards, F32, BF16 or F16 (held as float32). @throws CheckpointError for what the folder lacks or we cannot run.
 */
export function loadPolicy(folder: string, o: LoadOptions): Policy {
  if (!existsSync(join(folder, "config.json")))
    throw new CheckpointError({
      what: "not a model folder",
      where: folder,
      got: existsSync(folder) ? "no config.json" : "no such folder",
      expected: "a Hugging Face folder: config.json, *.safetensors and tokenizer.json",
      next: "Check the path; a run's policy is in its checkpoints/.",
    });
  const config = readHfConfig(folder);
  const base = loadWeights(folder, config);
  if (o.adapter !== undefined) {
    const { lora, params } = readAdapter(o.adapter, config);
    const adapted: Policy = { config, frozen: base, trainable: params, lora, version: 0 };
    return o.training === "full" ? mergeLora(adapted) : adapted;
  }
  if (o.training === "full") return { config, frozen: {}, trainable: base, version: 0 };
  if (o.training === "lora")
    throw new InvariantError({ what: "LoRA settings or an adapter must be given", where: folder });
  const trainable = initLora(config, o.training, o.seed);
  return { config, frozen: base, trainable, lora: o.training, version: 0 };
}

/** Every base weight of the folder as float32, in forward order. */
export function loadWeights(folder: string, config: ModelConfig): Params {
  const tensors = openSafetensors(folder);
  try {
    const names = tensors.names.filter(
      (name) => !derived.test(name) && !(config.tieEmbeddings && name === "lm_head.weight"),
    );
    checkWeights(config, new Map(names.map((name) => [name, tensors.shape(name)])), folder);
    const params: Record<string, Arr> = {};
    for (const name of weightShapes(config).keys()) params[name] = floats(name, tensors.read(name), folder);
    return params;
  } finally {
    tensors.close();
  }
}

function floats(name: string, arr: Arr, where: string): Arr {
  if (arr.dtype === "float32") return arr;
  throw new CheckpointError({
    what: `\`${name}\` does not hold floating-point weights`,
    where,
    got: arr.dtype,
    expected: "F32, BF16 or F16",
    next: "Quantized checkpoints cannot be trained; use the original weights.",
  });
}

/** Throws a CheckpointError that names missing, unexpected and misshapen weights. */
export function checkWeights(
  config: ModelConfig,
  got: ReadonlyMap<string, readonly number[]>,
  where: string,
): void {
  checkShapes({
    expected: weightShapes(config),
    got,
    where,
    what: "the weights do not match config.json",
    next: "Check that config.json and the safetensors come from the same model, whole and undamaged.",
  });
}

/** Writes a plain Hugging Face folder (float32), LoRA merged in; tokenizer files are the caller's. */
export function savePolicy(policy: Policy, folder: string): void {
  const { config, trainable } = mergeLora(policy);
  writeSafetensors(join(folder, "model.safetensors"), trainable, { format: "pt" });
  writeFileAtomic(join(folder, "config.json"), json(toHfConfig(config)));
  writeFileAtomic(join(folder, "generation_config.json"), json(toHfGenerationConfig(config)));
}

/**
 * The same model with a context of `tokens`. @throws CheckpointError when it was made for fewer.
 * @param longer a policy of ours may read further than it has so far: its positions are computed, and a warm-up follows
 */
export function withContext(policy: Policy, tokens: number | undefined, longer = false): Policy {
  if (tokens === undefined) return policy;
  const { contextTokens } = policy.config;
  if (tokens > contextTokens && !longer)
    throw new CheckpointError({
      what: "the context is longer than the model's",
      where: "model.contextTokens",
      got: String(tokens),
      expected: `at most ${contextTokens}`,
      next: "Lower it, or leave it out to use the model's own.",
    });
  return { ...policy, config: { ...policy.config, contextTokens: tokens } };
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
