import { rng } from "../../core/rng.ts";
import type { Arr, Params } from "../../engine/array.ts";
import {
  type ModelConfig,
  PROJECTION_NAMES,
  type Projection,
  projectionPath,
  projectionShape,
} from "./model-config.ts";

/** Low-rank adaptation (Hu et al. 2021): W + scale B A, with W frozen, A [rank, in], B [out, rank]. */
export interface LoraConfig {
  readonly rank: number;
  readonly alpha: number;
  /** Scale by alpha / sqrt(rank) instead of alpha / rank (Kalajdzievski 2023). */
  readonly rsLora: boolean;
  /** Which projections of every layer learn. */
  readonly targetModules: readonly Projection[];
}

/** What multiplies B A. */
export function loraScale(lora: LoraConfig): number {
  return lora.alpha / (lora.rsLora ? Math.sqrt(lora.rank) : lora.rank);
}

/** PEFT's names of the pair that adapts the projection at `path` ("model.layers.0.mlp.up_proj"). */
export function loraNames(path: string): { readonly a: string; readonly b: string } {
  const base = `base_model.model.${path}`;
  return { a: `${base}.lora_A.weight`, b: `${base}.lora_B.weight` };
}

/** Every LoRA matrix with its shape, in forward order, under PEFT's names. */
export function loraShapes(config: ModelConfig, lora: LoraConfig): Map<string, readonly number[]> {
  const shapes = new Map<string, readonly number[]>();
  for (let layer = 0; layer < config.layers; layer++) {
    for (const projection of PROJECTION_NAMES) {
      if (!lora.targetModules.includes(projection)) continue;
      const [out, inner] = projectionShape(config, projection);
      const { a, b } = loraNames(projectionPath(layer, projection));
      shapes.set(a, [lora.rank, inner]);
      shapes.set(b, [out, lora.rank]);
    }
  }
  return shapes;
}

/** A fresh adapter that changes nothing: A as PEFT draws it, uniform in ±1/sqrt(in); B zero. */
export function initLora(config: ModelConfig, lora: LoraConfig, seed: number): Params {
  const params: Record<string, Arr> = {};
  for (const [name, shape] of loraShapes(config, lora)) {
    const [rows, columns] = shape as [number, number];
    const data = new Float32Array(rows * columns);
    if (name.endsWith(".lora_A.weight")) {
      // kaiming_uniform with a = sqrt(5) is a bound of 1/sqrt(fan in).
      const draw = rng(seed, "lora", name);
      const bound = 1 / Math.sqrt(columns);
      for (let i = 0; i < data.length; i++) data[i] = (2 * draw() - 1) * bound;
    }
    params[name] = { shape, dtype: "float32", data };
  }
  return params;
}
