import * as tf from "@tensorflow/tfjs-core";
import { SamplerError } from "../../core/errors.ts";
import type { Arr } from "../../engine/array.ts";
import type { Engine } from "../../engine/engine.ts";
import type { LogitsRow, SampledToken } from "./sample-token.ts";

/** From this vocabulary on the engine's own exponentials pay for one more call a step. */
const largeVocabulary = 4096;
/** Logits whose exponentials are summed to one number. */
const block = 256;

/** What the engine knows of each row of logits [B, V]. */
export interface RowSums {
  /** [B] */
  readonly max: Float32Array;
  /** [B, floor(V / 256)]: Σ exp(x − max) of each block of 256. */
  readonly sums: Float32Array;
}

export type SumRows = (logits: Arr) => Promise<RowSums | undefined>;

/**
 * Sums of exponentials over blocks of a large vocabulary, computed by the engine: a token is then drawn by looking at
 * one block instead of exponentiating the row (1.2 ms a token at 49,152). Small vocabularies: undefined.
 */
export function rowSums(engine: Engine, vocabSize: number): SumRows {
  if (vocabSize < largeVocabulary) return async () => undefined;
  const count = Math.floor(vocabSize / block);
  const run = engine.jit("row sums", (logits: tf.Tensor) => {
    const rows = logits.shape[0] as number;
    const max = tf.max(logits, -1, true);
    const whole = count * block === vocabSize ? logits : tf.slice(logits, [0, 0], [rows, count * block]);
    const sums = tf.sum(tf.reshape(tf.exp(tf.sub(whole, max)), [rows, count, block]), -1);
    return { max, sums };
  });
  return async (logits) => {
    const { max, sums } = await run(logits);
    return { max: max.data as Float32Array, sums: sums.data as Float32Array };
  };
}

/**
 * `sampleToken` without truncation at temperature 1, or greedy: the same token but where rounding decides, the same
 * log-probability up to float32 sums. @param row number of the row in `known`
 * @throws SamplerError when the logits hold NaN or no finite maximum
 */
export function sampleBlocks(
  { logits, offset, size }: LogitsRow,
  known: RowSums,
  { row, greedy, uniform }: { readonly row: number; readonly greedy: boolean; readonly uniform: number },
): SampledToken {
  const count = Math.floor(size / block);
  const max = known.max[row] as number;
  const sums = known.sums.subarray(row * count, (row + 1) * count);
  const weight = (i: number) => Math.exp((logits[offset + i] as number) - max);
  let total = 0;
  for (const sum of sums) total += sum;
  for (let i = count * block; i < size; i++) total += weight(i);
  if (!(total >= 1 && total <= size))
    throw new SamplerError({
      what: "the policy's logits are not numbers",
      got: `maximum ${max}, sum ${total}`,
    });
  const token = greedy ? logits.indexOf(max, offset) - offset : draw();
  return { token, logprob: (logits[offset + token] as number) - max - Math.log(total) };

  function draw(): number {
    const target = uniform * total;
    let sum = 0;
    let at = 0;
    while (at < count && sum + (sums[at] as number) <= target) sum += sums[at++] as number;
    let last = 0;
    for (let i = at * block; i < size; i++) {
      const mass = weight(i);
      if (mass === 0) continue;
      sum += mass;
      last = i;
      if (sum > target) return i;
    }
    // Rounding left the target at the very end: the last token that can be drawn.
    for (let i = at * block - 1; last === 0 && i > 0; i--) if (weight(i) > 0) last = i;
    return last;
  }
}
