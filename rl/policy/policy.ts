import type { Params } from "../../engine/array.ts";
import type { LoraConfig } from "./lora.ts";
import type { ModelConfig } from "./model-config.ts";

/** A policy's weights and shape. Immutable: an update makes a new one with version + 1. */
export interface Policy {
  readonly config: ModelConfig;
  /** Weights that never change in this run, in Hugging Face names ({} when fully fine-tuned). */
  readonly frozen: Params;
  /** Weights that learn: all of them, or the LoRA matrices under PEFT names; of several adapters each behind `adapter:`. */
  readonly trainable: Params;
  readonly lora?: LoraConfig;
  /** Sets of weights over the one frozen base, two or more; absent where there is one set for all. See adapters.ts. */
  readonly adapters?: readonly string[];
  /** 0 as RL begins; +1 with every optimiser step, whether or not it is published. */
  readonly version: number;
}
