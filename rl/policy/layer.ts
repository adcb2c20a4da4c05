import type { Tensor, Tensor2D } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import { InvariantError } from "../../core/errors.ts";
import { type LoraConfig, loraNames, loraScale } from "./lora.ts";
import { type Projection, projectionPath } from "./model-config.ts";

/** Weights as the traced function sees them: `{ ...frozen, ...trainable }`. */
export type Weights = Readonly<Record<string, Tensor>>;

export function weight(weights: Weights, name: string): Tensor {
  const tensor = weights[name];
  if (!tensor) throw new InvariantError({ what: `the weight \`${name}\` was not given to the forward pass` });
  return tensor;
}

/**
 * RMSNorm over the last axis (Zhang & Sennrich 2019, eq. 4): x / sqrt(mean(x²) + eps) * gain.
 * The gradient is written out: tfjs' own would make twice as many passes over x.
 */
export function rmsNorm(x: Tensor, gain: Tensor, eps: number): Tensor {
  const width = gain.shape[0] as number;
  const lead = x.shape.slice(0, -1).map((_, i) => i);
  return tf.customGrad((...inputs) => {
    const [a, g, save] = inputs as unknown as [Tensor, Tensor, (saved: Tensor[]) => void];
    const r = tf.rsqrt(tf.add(tf.mul(tf.sum(tf.square(a), -1, true), 1 / width), eps));
    const n = tf.mul(a, r);
    save([n, r, g]);
    return {
      value: tf.mul(n, g),
      gradFunc: (dy: Tensor, saved: Tensor[]) => {
        const [n, r, g] = saved as [Tensor, Tensor, Tensor];
        const dn = tf.mul(dy, g);
        const along = tf.mul(tf.sum(tf.mul(dn, n), -1, true), 1 / width);
        return [tf.mul(tf.sub(dn, tf.mul(n, along)), r), tf.sum(tf.mul(dy, n), lead)];
      },
    };
  })(x, gain);
}

/** SwiGLU's gate (Shazeer 2020): silu(gate) * up, same shapes. The gradient is written out, to save passes. */
export function swiGlu(gate: Tensor, up: Tensor): Tensor {
  return tf.customGrad((...inputs) => {
    const [a, b, save] = inputs as unknown as [Tensor, Tensor, (saved: Tensor[]) => void];
    const sigma = tf.sigmoid(a);
    const silu = tf.mul(a, sigma);
    save([sigma, silu, b]);
    return {
      value: tf.mul(silu, b),
      gradFunc: (dy: Tensor, saved: Tensor[]) => {
        const [sigma, silu, b] = saved as [Tensor, Tensor, Tensor];
        // silu' = σ + silu·(1 − σ)
        const slope = tf.add(sigma, tf.mul(silu, tf.sub(1, sigma)));
        return [tf.mul(tf.mul(dy, b), slope), tf.mul(dy, silu)];
      },
    };
  })(gate, up);
}

/**
 * One projection of layer `layer`, x [N, in] to [N, out]: x Wᵀ + bias, plus scale (x Aᵀ) Bᵀ where the
 * weights hold a LoRA pair for it (Hu et al. 2021, eq. 3).
 */
export function project(
  weights: Weights,
  layer: number,
  projection: Projection,
  x: Tensor,
  lora: LoraConfig | undefined,
): Tensor {
  const path = projectionPath(layer, projection);
  let y: Tensor = times(x, weight(weights, `${path}.weight`));
  const bias = weights[`${path}.bias`];
  if (bias) y = tf.add(y, bias);
  const { a, b } = loraNames(path);
  const down = weights[a];
  if (!down) return y;
  if (!lora)
    throw new InvariantError({ what: `\`${a}\` is among the weights, but no LoRA settings were given` });
  const low = tf.mul(times(x, down), loraScale(lora));
  return tf.add(y, times(low, weight(weights, b)));
}

/**
 * Widest product whose sums are blocked by hand, at the price of copying w: two threads cut wider ones into more than
 * 64 columns each, which blocks nothing otherwise. 64 columns more for every further thread that should agree to the bit.
 */
const NARROW = 128;

/** x [N, in] times w [out, in] transposed. */
export function times(x: Tensor, w: Tensor): Tensor2D {
  const [n, inner] = x.shape as [number, number];
  const out = w.shape[0] as number;
  const block = sumBlock(out);
  if (n >= out || out > NARROW || inner <= block) return product(x, w);
  // Of fewer rows than columns ONNX Runtime gives each thread some columns, and blocks the sums by how many those are.
  let sum: Tensor2D | undefined;
  for (let from = 0; from < inner; from += block) {
    const length = Math.min(block, inner - from);
    const part = product(tf.slice(x, [0, from], [n, length]), tf.slice(w, [0, from], [out, length]));
    sum = sum ? tf.add(sum, part) : part;
  }
  return sum as Tensor2D;
}

function product(x: Tensor, w: Tensor): Tensor2D {
  return tf.matMul(x as Tensor2D, w as Tensor2D, false, true);
}

/** How many products ONNX Runtime's matrix product (MLAS SgemmOperation) chains before it adds them to the result. */
export function sumBlock(columns: number): number {
  let [wide, deep] = [128, 128];
  for (; wide > 16 && wide / 2 >= columns; wide /= 2) deep *= 2;
  return deep;
}
