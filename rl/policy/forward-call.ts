import * as tf from "@tensorflow/tfjs-core";
import { InvariantError } from "../../core/errors.ts";
import type { Arr, Params } from "../../engine/array.ts";
import type { Engine } from "../../engine/engine.ts";
import { MASKED } from "./attention.ts";
import { extend, logitsOf, type Weights } from "./forward.ts";
import type { CacheArrays } from "./kv-arena.ts";
import type { LoraConfig } from "./lora.ts";
import type { ModelConfig } from "./model-config.ts";
import { rotaryRows } from "./rotary.ts";

/** The next tokens of one sequence and how many of its positions are cached already. */
export interface Chunk {
  /** > 0; the row's logits are divided by it. */
  readonly temperature: number;
  readonly tokens: ArrayLike<number>;
  readonly at: number;
}

export interface ForwardResult {
  /** [B, V], or [2, V] for one row: after each row's last token, divided by the row's temperature. */
  readonly logits: Arr;
  /** One per layer, [B, KV, T, hd]. */
  readonly keys: readonly Arr[];
  readonly values: readonly Arr[];
}

export type ForwardCall = (
  weights: Params,
  /** At most B; the rows beyond them are computed and mean nothing. */
  chunks: readonly Chunk[],
  /** T ≥ the longest chunk; B. */
  shape: { readonly rows: number; readonly length: number },
  /** Caches of the B rows, or [] when no row has any. */
  caches: readonly CacheArrays[],
) => Promise<ForwardResult>;

/** The policy over a cache as one compiled call per shape: chunks in, last logits and new keys and values out. */
export function forwardCall(engine: Engine, config: ModelConfig, lora: LoraConfig | undefined): ForwardCall {
  const run = engine.jit(
    "policy",
    (weights: Weights, inputs: Inputs<tf.Tensor>, caches: readonly { k: tf.Tensor; v: tf.Tensor }[]) => {
      const { at } = inputs;
      const placed = caches.map(({ k, v }) => ({ k, v, at }));
      const { hidden, keys, values } = extend(config, weights, { ...inputs, caches: placed }, { lora });
      const length = inputs.ids.shape[1] as number;
      // A decode step has one position a row: nothing to pick.
      const last =
        length === 1 && hidden.shape[0] === inputs.last.size ? hidden : tf.gather(hidden, inputs.last);
      // The temperature goes over the hidden states, as in training: the head then sees the same bits.
      return { logits: logitsOf(config, weights, tf.mul(last, inputs.inverse)), keys, values };
    },
  ) as unknown as (
    weights: Params,
    inputs: Inputs<Arr>,
    caches: readonly CacheArrays[],
  ) => Promise<ForwardResult>;
  let scratch = new Float32Array(0);
  return (weights, chunks, { rows, length }, caches) => {
    const slots = caches[0]?.k.shape[2] ?? 0;
    const size = rows * length * (slots || length);
    if (scratch.length < size) scratch = new Float32Array(size);
    const inputs = inputsOf(config, chunks, { rows, length, slots }, scratch.subarray(0, size));
    return run(weights, inputs, caches);
  };
}

export interface Inputs<T> {
  readonly [name: string]: T;
  readonly ids: T;
  readonly cos: T;
  readonly sin: T;
  readonly mask: T;
  /** [B]: positions cached. */
  readonly at: T;
  /** [max(2, B)] */
  readonly last: T;
  /** [max(2, B), 1]: 1 / temperature. */
  readonly inverse: T;
}

/** What `extend` reads for these chunks. `mask` is room for it: rows × length × (slots, or length without caches). */
export function inputsOf(
  config: ModelConfig,
  chunks: readonly Chunk[],
  { rows, length, slots }: { rows: number; length: number; slots: number },
  mask: Float32Array,
): Inputs<Arr> {
  const ids = new Int32Array(rows * length);
  const positions = new Int32Array(rows * length);
  // At least two rows for the head, as everywhere (buckets.ts).
  const last = new Int32Array(Math.max(2, rows));
  const ats = new Int32Array(rows);
  const inverse = new Float32Array(last.length).fill(1);
  const width = slots || length;
  for (let row = 0; row < rows; row++) {
    const tokens = chunks[row]?.tokens ?? [];
    const at = chunks[row]?.at ?? 0;
    const n = tokens.length;
    ats[row] = at;
    inverse[row] = 1 / (chunks[row]?.temperature ?? 1);
    if (at + n > width)
      throw new InvariantError({ what: `${n} tokens at ${at} do not fit a cache of ${width} slots` });
    last[row] = row * length + Math.max(0, n - 1);
    for (let t = 0; t < length; t++) {
      const i = row * length + t;
      if (t < n) {
        const token = tokens[t] as number;
        if (!(token >= 0 && token < config.vocabSize))
          throw new InvariantError({ what: `token ${token} is outside the policy's vocabulary` });
        ids[i] = token;
        positions[i] = at + t;
      }
      const start = i * width;
      const end = Math.min(start + at + t + 1, start + width);
      mask.fill(0, start, end);
      mask.fill(MASKED, end, start + width);
    }
  }
  return {
    ids: { shape: [rows, length], dtype: "int32", data: ids },
    ...rotaryRows(config, positions, [rows, length]),
    mask: { shape: [rows, 1, length, width], dtype: "float32", data: mask },
    at: { shape: [rows], dtype: "int32", data: ats },
    last: { shape: [last.length], dtype: "int32", data: last },
    inverse: { shape: [last.length, 1], dtype: "float32", data: inverse },
  };
}
