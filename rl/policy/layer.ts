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

/** x [N, in] times w [out, in] transposed. */
export function times(x: Tensor, w: Tensor): Tensor2D {
  return tf.matMul(x as Tensor2D, w as Tensor2D, false, true);
}
