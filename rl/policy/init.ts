import { type Rng, rng } from "../../core/rng.ts";
import type { Arr } from "../../engine/array.ts";
import { type ModelConfig, weightShapes } from "./model-config.ts";
import type { Policy } from "./policy.ts";

/** Standard deviation of embeddings: small, because a tied head multiplies by them again. */
const EMBEDDING_STD = 0.06;

/**
 * Version 0 of a policy with random weights, every one trainable: embeddings N(0, 0.06²), projections N(0, 1/in),
 * those that write into the residual stream smaller by sqrt(2 layers) (GPT-2), gains 1, biases 0.
 */
export function initPolicy(config: ModelConfig, seed: number): Policy {
  const trainable: Record<string, Arr> = {};
  for (const [name, shape] of weightShapes(config)) {
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1));
    if (name.endsWith("norm.weight")) data.fill(1);
    else if (name.endsWith(".weight")) fillNormal(data, stdOf(config, name, shape), rng(seed, "init", name));
    trainable[name] = { shape, dtype: "float32", data };
  }
  return { config, frozen: {}, trainable, version: 0 };
}

function stdOf(config: ModelConfig, name: string, shape: readonly number[]): number {
  if (name === "model.embed_tokens.weight" || name === "lm_head.weight") return EMBEDDING_STD;
  const residual = /\.(o_proj|down_proj)\.weight$/.test(name) ? 2 * config.layers : 1;
  return 1 / Math.sqrt((shape[1] as number) * residual);
}

/** Box-Muller, two draws a value. */
function fillNormal(data: Float32Array, std: number, draw: Rng): void {
  for (let i = 0; i < data.length; i++)
    data[i] = std * Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}
