import type { Tensor } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import { gatherRows } from "../../engine/ops.ts";
import { rotateHeads } from "../../engine/rotary.ts";
import { attend, causalMask, type Heads, type LayerCache, splitHeads } from "./attention.ts";
import { project, rmsNorm, swiGlu, times, type Weights, weight } from "./layer.ts";
import type { LoraConfig } from "./lora.ts";
import type { ModelConfig } from "./model-config.ts";
import { rotaryTable } from "./rotary.ts";

export type { LayerCache } from "./attention.ts";
export type { Weights } from "./layer.ts";

export interface ForwardOptions {
  /** Needed when the weights hold LoRA matrices. */
  readonly lora?: LoraConfig | undefined;
}

/**
 * The decoder without its head: ids [B, T] int32 to final normed hidden states [B*T, D] (row b*T + t).
 * Rows shorter than T are padded on the right with any valid id: the causal mask keeps padding out of
 * every earlier position. Positions are 0 to T - 1. Pure, for use inside `engine.jit`.
 */
export function hiddenStates(
  config: ModelConfig,
  weights: Weights,
  ids: Tensor,
  options: ForwardOptions = {},
): Tensor {
  const [b, t] = ids.shape as [number, number];
  const table = rotaryTable(config, t);
  const half = config.headDim / 2;
  const cos = tf.tensor(table.cos.slice(0, t * half), [t, half]);
  const sin = tf.tensor(table.sin.slice(0, t * half), [t, half]);
  const mask = causalMask(t);
  let x = embed(weights, ids);
  for (let layer = 0; layer < config.layers; layer++) {
    const heads = headsOf(config, weights, layer, x, [b, t], { cos, sin }, options);
    x = afterAttention(config, weights, layer, x, attend(config, heads, mask), options);
  }
  return finalNorm(config, weights, x);
}

/** Next-token logits [N, V] of hidden states [N, D], through the tied or the separate head. */
export function logitsOf(config: ModelConfig, weights: Weights, hidden: Tensor): Tensor {
  return times(
    hidden,
    weight(weights, config.tieEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight"),
  );
}

export interface ExtendInputs {
  /** [B, T] int32: the next T tokens of each sequence, padded on the right. */
  readonly ids: Tensor;
  /** [B*T, headDim/2] from `rotaryRows`: where those tokens stand. */
  readonly cos: Tensor;
  readonly sin: Tensor;
  /** [B, 1, T, S] additive, 0 or MASKED: which slots each token sees, its own included; S is T without caches. */
  readonly mask: Tensor;
  /** One per layer, or [] when nothing is cached yet. */
  readonly caches: readonly LayerCache[];
}

export interface Extended {
  /** [B*T, D], final normed. */
  readonly hidden: Tensor;
  /** Per layer, the new keys and values only, [B, KV, T, headDim]: the caller writes them into its caches. */
  readonly keys: Tensor[];
  readonly values: Tensor[];
}

/** The same decoder over a key-value cache. Pure; gives the numbers of `hiddenStates` for the same tokens. */
export function extend(
  config: ModelConfig,
  weights: Weights,
  { ids, cos, sin, mask, caches }: ExtendInputs,
  options: ForwardOptions = {},
): Extended {
  const [b, t] = ids.shape as [number, number];
  const [rows, , , seen] = mask.shape as [number, number, number, number];
  const broadcast = tf.reshape(mask, [rows, 1, 1, t, seen]);
  const keys: Tensor[] = [];
  const values: Tensor[] = [];
  let x = embed(weights, ids);
  for (let layer = 0; layer < config.layers; layer++) {
    const heads = headsOf(config, weights, layer, x, [b, t], { cos, sin }, options);
    keys.push(heads.k);
    values.push(heads.v);
    x = afterAttention(config, weights, layer, x, attend(config, heads, broadcast, caches[layer]), options);
  }
  return { hidden: finalNorm(config, weights, x), keys, values };
}

/** ids [B, T] to embeddings [B*T, D]. */
function embed(weights: Weights, ids: Tensor): Tensor {
  return gatherRows(weight(weights, "model.embed_tokens.weight"), tf.reshape(ids, [ids.size]));
}

/** Queries, keys and values of a layer from the residual stream x [B*T, D]. */
function headsOf(
  config: ModelConfig,
  weights: Weights,
  layer: number,
  x: Tensor,
  shape: readonly [number, number],
  { cos, sin }: { readonly cos: Tensor; readonly sin: Tensor },
  { lora }: ForwardOptions,
): Heads {
  const at = `model.layers.${layer}`;
  const normed = rmsNorm(x, weight(weights, `${at}.input_layernorm.weight`), config.rmsNormEps);
  const part = (projection: "q_proj" | "k_proj" | "v_proj") =>
    project(weights, layer, projection, normed, lora);
  const turned = (x: Tensor, heads: number, name: "q_norm" | "k_norm", scale: number) => {
    const [b, t] = shape;
    const width = heads * config.headDim;
    const gain = config.qkNorm && weight(weights, `${at}.self_attn.${name}.weight`);
    const y = gain ? rmsNorm(tf.reshape(x, [b * t, heads, config.headDim]), gain, config.rmsNormEps) : x;
    const angles = [tf.mul(cos, scale), tf.mul(sin, scale)] as [Tensor, Tensor];
    return splitHeads(
      rotateHeads(tf.reshape(y, [b, t, width]), heads, ...angles),
      shape,
      heads,
      config.headDim,
    );
  };
  // Attention's scale rides on the rotation: as a factor of q, ONNX Runtime fuses it into the score products
  // and loses its fast path for one query (3.3 instead of 1.8 ms of a decode step of 128 rows).
  return {
    q: turned(part("q_proj"), config.heads, "q_norm", 1 / Math.sqrt(config.headDim)),
    k: turned(part("k_proj"), config.kvHeads, "k_norm", 1),
    v: splitHeads(part("v_proj"), shape, config.kvHeads, config.headDim),
  };
}

/** The residual stream after attention's output projection and the MLP, [B*T, D]. */
function afterAttention(
  config: ModelConfig,
  weights: Weights,
  layer: number,
  x: Tensor,
  read: Tensor,
  { lora }: ForwardOptions,
): Tensor {
  const middle = tf.add(x, project(weights, layer, "o_proj", read, lora));
  const gain = weight(weights, `model.layers.${layer}.post_attention_layernorm.weight`);
  const normed = rmsNorm(middle, gain, config.rmsNormEps);
  const gate = project(weights, layer, "gate_proj", normed, lora);
  const up = project(weights, layer, "up_proj", normed, lora);
  return tf.add(middle, project(weights, layer, "down_proj", swiGlu(gate, up), lora));
}

function finalNorm(config: ModelConfig, weights: Weights, x: Tensor): Tensor {
  return rmsNorm(x, weight(weights, "model.norm.weight"), config.rmsNormEps);
}
