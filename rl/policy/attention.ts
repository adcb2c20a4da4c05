import type { Tensor } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import { mulAdd, pick } from "../../engine/ops.ts";
import { sumBlock } from "./layer.ts";
import type { ModelConfig } from "./model-config.ts";

/** Added to the score of a key that a query must not see; exp of it is 0 in float32. */
export const MASKED = -1e9;

/** A layer's queries [B, H, T, hd], keys and values [B, KV, T, hd], positions already rotated in. */
export interface Heads {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
}

/** Keys and values of earlier positions, each [B, KV, S, hd]; slots beyond a row's length are masked. */
export interface LayerCache {
  readonly k: Tensor;
  readonly v: Tensor;
  /** [B] int32: positions each row has cached; its T new tokens go into slots `at` to `at` + T - 1. */
  readonly at: Tensor;
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
 * `mask` broadcasts over [B, KV, H/KV, T, S]: the slots of the cache, or without one this call's own T.
 */
export function attend(config: ModelConfig, { q, k, v }: Heads, mask: Tensor, cache?: LayerCache): Tensor {
  const [b, h, t, hd] = q.shape as [number, number, number, number];
  const queries = tf.reshape(q, [b, config.kvHeads, (h / config.kvHeads) * t, hd]);
  const read = cache ? readCached(queries, k, v, mask, cache) : readAll(queries, k, v, mask);
  return joinHeads(tf.reshape(read, [b, h, t, hd]));
}

/** softmax(scores + mask) over the last axis; scores [B, KV, G*T, S]. */
function sharesOf(scores: Tensor, mask: Tensor): Tensor {
  const [b, kv, queries, seen] = scores.shape as [number, number, number, number];
  const t = mask.shape.at(-2) as number;
  const apart = tf.reshape(scores, [b, kv, queries / t, t, seen]);
  return tf.reshape(tf.softmax(tf.add(apart, mask)), scores.shape);
}

/** Queries [B, KV, G*T, hd] over keys [B, KV, S, hd]. The gradient is written out, to save passes. */
function readAll(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor): Tensor {
  return tf.customGrad((...inputs) => {
    const [q, k, v, save] = inputs as unknown as [Tensor, Tensor, Tensor, (saved: Tensor[]) => void];
    const shares = sharesOf(tf.matMul(q, k, false, true), mask);
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
  if (k.shape[2] === 1) return readOne(queries, k, v, mask, cache);
  return readAll(queries, placed(cache.k, k, cache.at), placed(cache.v, v, cache.at), mask);
}

const int = (value: number): Tensor => tf.scalar(value, "int32");

/** A copy of the cache [B, KV, S, hd] with fresh [B, KV, T, hd] at slots `at` …; what would lie past the end is left out. */
function placed(cache: Tensor, fresh: Tensor, at: Tensor): Tensor {
  const [b, kv, slots, hd] = cache.shape as [number, number, number, number];
  const t = fresh.shape[2] as number;
  const slot = tf.range(0, slots, 1, "int32");
  const since = tf.sub(slot, tf.reshape(at, [b, 1, 1])); // [B, 1, S]
  const isFresh = tf.logicalAnd(tf.greaterEqual(since, int(0)), tf.less(since, int(t)));
  const row = tf.where(isFresh, tf.add(since, int(slots)), tf.reshape(slot, [1, 1, slots]));
  const blocks = tf.reshape(tf.range(0, b * kv * (slots + t), slots + t, "int32"), [b, kv, 1]);
  const both = tf.reshape(tf.concat([cache, fresh], 2), [b * kv * (slots + t), hd]);
  return tf.reshape(tf.gather(both, tf.reshape(tf.add(blocks, row), [b * kv * slots])), cache.shape);
}

/**
 * One new token a row, without a copy of the cache: its key's score and its value are slipped into the slot where
 * they will stand. A sum over slots is one chain of fused multiply-adds per block of `sumBlock`, the blocks added
 * in turn, and the new value is the chain's last link.
 */
function readOne(queries: Tensor, k: Tensor, v: Tensor, mask: Tensor, { at, ...cache }: LayerCache): Tensor {
  const [b, kv, slots, hd] = cache.k.shape as [number, number, number, number];
  const groups = queries.shape[2] as number;
  const starts = tf.reshape(at, [b, 1, 1, 1]);
  const slot = tf.range(0, slots, 1, "int32");
  const here = tf.equal(slot, starts);
  // A lone query has a kernel of its own in ONNX Runtime, with another order of adding: nothing to match, so the cheaper forms.
  const alone = groups === 1;
  const own = alone ? tf.sum(tf.mul(queries, k), -1, true) : tf.matMul(queries, k, false, true);
  const shares = sharesOf(tf.where(here, own, tf.matMul(queries, cache.k, false, true)), mask);
  const ids = tf.reshape(tf.add(tf.reshape(at, [b, 1]), tf.zeros([1, kv * groups], "int32")), [
    b * kv * groups,
  ]);
  const share = tf.reshape(pick(tf.reshape(shares, [ids.size, slots]), ids), [b, kv, groups, 1]);
  const old = tf.where(here, tf.scalar(0), shares);
  const block = sumBlock(hd);
  if (alone) return tf.add(tf.matMul(old, cache.v), tf.mul(share, v));
  if (slots <= block) return mulAdd(share, v, tf.matMul(old, cache.v));
  const earlier = tf.where(
    tf.less(slot, tf.mul(tf.floorDiv(starts, int(block)), int(block))),
    old,
    tf.scalar(0),
  );
  const both = tf.matMul(tf.concat([earlier, tf.sub(old, earlier)], 2), cache.v);
  const [done, last] = tf.split(both, 2, 2) as [Tensor, Tensor];
  return tf.add(done, mulAdd(share, v, last));
}
