import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Params } from "../engine/array.ts";
import type { Engine } from "../engine/engine.ts";
import { type ForwardCall, forwardCall } from "../rl/policy/forward-call.ts";
import type { LoraConfig } from "../rl/policy/lora.ts";
import type { ModelConfig } from "../rl/policy/model-config.ts";
import { readAdapter } from "../rl/policy/peft.ts";
import type { Policy } from "../rl/policy/policy.ts";
import type { PolicyVersion } from "../rl/policy/policy-version.ts";
import { promptScorer, type ScorePrompt } from "../rl/policy/score-prompt.ts";
import { ServedError } from "./served-model.ts";

/** A version with what scores texts under it. */
export interface ServedVersion extends PolicyVersion {
  readonly score: ScorePrompt;
}

export interface AdapterLimits {
  readonly maxAdapters: number;
  readonly maxLoraRank: number;
}

/**
 * The versions one server can sample from, by name: the policy it was started with, and adapters read from folders
 * at run time. All share the base weights; those with equal LoRA settings share compiled programs.
 */
export class ServedAdapters {
  readonly own: ServedVersion;
  readonly #engine: Engine;
  readonly #config: ModelConfig;
  /** What an adapter is added to: the policy without its own. */
  readonly #base: Params;
  readonly #limits: AdapterLimits;
  readonly #adapters = new Map<string, { readonly path: string; readonly version: ServedVersion }>();
  readonly #programs = new Map<string, { readonly forward: ForwardCall; readonly score: ScorePrompt }>();

  constructor(engine: Engine, policy: Policy, name: string, limits: AdapterLimits) {
    this.#engine = engine;
    this.#config = policy.config;
    this.#base = policy.lora ? policy.frozen : { ...policy.frozen, ...policy.trainable };
    this.#limits = limits;
    this.own = this.#version(name, policy.lora ? policy.trainable : {}, policy.lora);
  }

  /** Names and folders, in the order they came. */
  list(): { readonly name: string; readonly path: string }[] {
    return [...this.#adapters].map(([name, { path }]) => ({ name, path }));
  }

  /** @throws ServedError unknownModel */
  get(name: string): ServedVersion {
    const version = name === this.own.name ? this.own : this.#adapters.get(name)?.version;
    if (version) return version;
    throw new ServedError(
      "unknownModel",
      `The model \`${name}\` does not exist. Valid aliases: ${this.own.name}.`,
    );
  }

  /** Reads and checks the whole adapter before its name is known. @throws ServedError */
  load(name: string, path: string): void {
    if (name === this.own.name)
      throw new ServedError(
        "adapterExists",
        `The lora adapter '${name}' conflicts with a served base model.`,
      );
    if (this.#adapters.has(name))
      throw new ServedError(
        "adapterExists",
        `The lora adapter '${name}' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True.`,
      );
    const { maxAdapters, maxLoraRank } = this.#limits;
    if (this.#adapters.size >= maxAdapters)
      throw new ServedError(
        "overloaded",
        `${maxAdapters} LoRA adapters are loaded, which is the most: unload one that is not used any more, or start the server with room for more.`,
      );
    const { lora, params } = this.#read(name, path);
    if (lora.rank > maxLoraRank)
      throw new ServedError(
        "adapterInvalid",
        `LoRA rank ${lora.rank} is greater than max_lora_rank ${maxLoraRank}.`,
      );
    this.#adapters.set(name, { path, version: this.#version(name, params, lora) });
  }

  /** Takes the name away; the version is the caller's to let finish. @throws ServedError adapterUnknown */
  unload(name: string): ServedVersion {
    const adapter = this.#adapters.get(name);
    if (!adapter) throw new ServedError("adapterUnknown", `The lora adapter '${name}' cannot be found.`);
    this.#adapters.delete(name);
    return adapter.version;
  }

  clear(): void {
    this.#adapters.clear();
  }

  #read(name: string, path: string): { lora: LoraConfig; params: Params } {
    // Not there, or not there yet: the one failure a client may try again.
    if (!["adapter_config.json", "adapter_model.safetensors"].every((file) => existsSync(join(path, file))))
      throw new ServedError("adapterMissing", `Loading lora ${name} failed: No adapter found for ${path}`);
    try {
      return readAdapter(path, this.#config);
    } catch (error) {
      throw new ServedError("adapterInvalid", error instanceof Error ? error.message : String(error));
    }
  }

  #version(name: string, params: Params, lora: LoraConfig | undefined): ServedVersion {
    const key = JSON.stringify(lora ?? null);
    const programs = this.#programs.get(key) ?? {
      forward: forwardCall(this.#engine, this.#config, lora),
      score: promptScorer(this.#engine, this.#config, lora),
    };
    this.#programs.set(key, programs);
    return { name, weights: { ...this.#base, ...params }, ...programs };
  }
}
