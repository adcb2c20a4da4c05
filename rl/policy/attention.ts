import type { Tensor } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import type { ModelConfig } from "./model-config.ts";

/** Added to the score of a key that a query must not see; exp of it is 0 in float32. */
export const MASKED = -1e9;

/** A layer's queries [B, H, T, hd], keys and values [B, KV, T, hd], positions already rotated in. */
export interface Heads {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
}

/** Keys and values of earlier positions, each [B, KV, Tc, hd]; slots beyond a row's length are masked. */
export interface LayerCache {
  readonly k: Tensor;
  readonly v: Tensor;
}

/** [B*T, heads*hd] to [B, heads, T, hd]. */
export function splitHeads(x: Tensor, [b, t]: readonly [number, number], heads: number, hd: number): Tensor {
  return tf.transpose(tf.reshape(x, [b, t, heads, hd]), [0, 2, 1, 3]);
}

/** [B, heads, T, hd] to [B*T, heads*hd]. */
export function joinHeads(x: Tensor): Tensor {
  const [b, heads, t, hd] = x.shape as [number, number, number, number];
  return tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [b * t, heads * hd]);
}

/** Rotates each pair (i, i + hd/2) by its position's angle; cos and sin broadcast over [B, heads, T, hd]. */
export function rotate(x: Tensor, cos: Tensor, sin: Tensor): Tensor {
  const [first, second] = tf.split(x, 2, -1) as [Tensor, Tensor];
  return tf.add(tf.mul(x, cos), tf.mul(tf.concat([tf.neg(second), first], -1), sin));
}

/** Causal mask [1, 1, 1, T, T]: 0 at and before the query's position, MASKED after it. */
export function causalMask(length: number): Tensor {
  const data = new Float32Array(length * length);
  for (let i = 0; i < length; i++) data.fill(MASKED, i * length + i + 1, (i + 1) * length);
  return tf.tensor(data, [1, 1, 1, length, length]);
}

/**
 * Grouped-query attention (Ainslie et al. 2023) to [B*T, H*hd]. The queries of one key head are laid side
 * by side, [B, KV, (H/KV)*T, hd], so keys and values are never repeated. Queries arrive scaled by 1/sqrt(hd).
 * `mask` broadcasts over [B, KV, H/KV, T, Tc+T]: cached keys first, then this call's own.
 */
export function attend(config: ModelConfig, { q, k, v }: Heads, mask: Tensor, cache?: LayerCache): Tensor {
  const [b, h, t, hd] = q.shape as [number, number, number, number];
  const group = h / config.kvHeads;
  const queries = tf.reshape(q, [b, config.kvHeads, group * t, hd]);
  const cached = cache ? (cache.k.shape[2] as number) : 0;
  // One token beside its cache: products with a single key are cheaper as plain multiplications.
  const single = t === 1 && cache !== undefined;
  const own = single ? tf.sum(tf.mul(queries, k), -1, true) : tf.matMul(queries, k, false, true);
  const scores = cache ? tf.concat([tf.matMul(queries, cache.k, false, true), own], -1) : own;
  const apart = tf.reshape(scores, [b, config.kvHeads, group, t, cached + t]);
  const shares = tf.reshape(tf.softmax(tf.add(apart, mask)), scores.shape);
  let read: Tensor;
  if (cache) {
    const [old, now] = tf.split(shares, [cached, t], -1) as [Tensor, Tensor];
    read = tf.add(tf.matMul(old, cache.v), single ? tf.mul(now, v) : tf.matMul(now, v));
  } else {
    read = tf.matMul(shares, v);
  }
  return joinHeads(tf.reshape(read, [b, h, t, hd]));
}
