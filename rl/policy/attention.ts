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
  const queries = tf.reshape(q, [b, config.kvHeads, (h / config.kvHeads) * t, hd]);
  const read = cache ? readCached(queries, k, v, mask, cache) : readOwn(queries, k, v, mask);
  return joinHeads(tf.reshape(read, [b, h, t, hd]));
}

/** softmax(scores + mask) over the last axis; scores [B, KV, G*T, S]. */
function sharesOf(scores: Tensor, t: number, mask: Tensor): Tensor {
  const [b, kv, queries, seen] = scores.shape as [number, number, number, number];
  const apart = tf.reshape(scores, [b, kv, queries / t, t, seen]);
  return tf.reshape(tf.softmax(tf.add(apart, mask)), scores.shape);
}

/** Without a cache: queries [B, KV, G*T, hd] over these T keys. The gradient is written out, to save passes. */
function readOwn(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor): Tensor {
  return tf.customGrad((...inputs) => {
    const [q, k, v, save] = inputs as unknown as [Tensor, Tensor, Tensor, (saved: Tensor[]) => void];
    const shares = sharesOf(tf.matMul(q, k, false, true), k.shape[2] as number, mask);
    const read = tf.matMul(shares, v);
    save([q, k, v, shares, read]);
    return {
      value: read,
      gradFunc: (dy: Tensor, saved: Tensor[]) => {
        const [q, k, v, shares, read] = saved as [Tensor, Tensor, Tensor, Tensor, Tensor];
        // Softmax takes its mean gradient off: Σ p·dp over the keys is Σ dy·read over a head (FlashAttention, eq. 4).
        const mean = tf.sum(tf.mul(dy, read), -1, true);
        const scores = tf.mul(shares, tf.sub(tf.matMul(dy, v, false, true), mean));
        return [tf.matMul(scores, k), tf.matMul(scores, q, true), tf.matMul(shares, dy, true)];
      },
    };
  })(queries, keys, values);
}

function readCached(queries: Tensor, k: Tensor, v: Tensor, mask: Tensor, cache: LayerCache): Tensor {
  const t = k.shape[2] as number;
  // One token beside its cache: products with a single key are cheaper as plain multiplications.
  const own = t === 1 ? tf.sum(tf.mul(queries, k), -1, true) : tf.matMul(queries, k, false, true);
  const scores = tf.concat([tf.matMul(queries, cache.k, false, true), own], -1);
  const shares = sharesOf(scores, t, mask);
  const [old, now] = tf.split(shares, [cache.k.shape[2] as number, t], -1) as [Tensor, Tensor];
  return tf.add(tf.matMul(old, cache.v), t === 1 ? tf.mul(now, v) : tf.matMul(now, v));
}
