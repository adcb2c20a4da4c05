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
  readonly tokens: ArrayLike<number>;
  readonly at: number;
}

export interface ForwardResult {
  /** [B, V]: after each row's last token. */
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
      const { hidden, keys, values } = extend(config, weights, { ...inputs, caches }, { lora });
      const length = inputs.ids.shape[1] as number;
      // A decode step has one position a row: nothing to pick.
      const last = length === 1 ? hidden : tf.gather(hidden, inputs.last);
      return { logits: logitsOf(config, weights, last), keys, values };
    },
  ) as unknown as (
    weights: Params,
    inputs: Inputs<Arr>,
    caches: readonly CacheArrays[],
  ) => Promise<ForwardResult>;
  let scratch = new Float32Array(0);
  return (weights, chunks, { rows, length }, caches) => {
    const slots = caches[0]?.k.shape[2] ?? 0;
    const size = rows * length * (slots + length);
    if (scratch.length < size) scratch = new Float32Array(size);
    const inputs = inputsOf(config, chunks, { rows, length, slots }, scratch.subarray(0, size));
    return run(weights, inputs, caches);
  };
}

interface Inputs<T> {
  readonly [name: string]: T;
  readonly ids: T;
  readonly cos: T;
  readonly sin: T;
  readonly mask: T;
  readonly last: T;
}

function inputsOf(
  config: ModelConfig,
  chunks: readonly Chunk[],
  { rows, length, slots }: { rows: number; length: number; slots: number },
  mask: Float32Array,
): Inputs<Arr> {
  const ids = new Int32Array(rows * length);
  const positions = new Int32Array(rows * length);
  const last = new Int32Array(rows);
  const width = slots + length;
  for (let row = 0; row < rows; row++) {
    const tokens = chunks[row]?.tokens ?? [];
    const at = chunks[row]?.at ?? 0;
    const n = tokens.length;
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
      mask.fill(0, start, start + at);
      mask.fill(MASKED, start + at, start + slots);
      mask.fill(0, start + slots, start + slots + t + 1);
      mask.fill(MASKED, start + slots + t + 1, start + width);
    }
  }
  return {
    ids: { shape: [rows, length], dtype: "int32", data: ids },
    ...rotaryRows(config, positions, [rows, length]),
    mask: { shape: [rows, 1, length, width], dtype: "float32", data: mask },
    last: { shape: [rows], dtype: "int32", data: last },
  };
}
