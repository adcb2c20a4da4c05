import type { Tensor } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import type { Arr, Params } from "../engine/array.ts";

export interface OptimizerConfig {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** Gradients are scaled down to this global L2 norm. */
  readonly maxGradNorm: number;
}

/** First and second moments, named μ and ν as in Kingma & Ba (2015). */
export interface AdamState {
  /** Updates made. */
  readonly step: number;
  readonly mu: Params;
  readonly nu: Params;
  /** Updates made of each adapter, where there are several: a frozen one is corrected for its own few. Absent is 0. */
  readonly steps?: Readonly<Record<string, number>>;
}

/** Numbers that change with every update, so they are inputs of the graph and never constants. */
export type AdamScalars = {
  readonly learningRate: Arr;
  readonly correction1: Arr;
  readonly correction2: Arr;
};

/**
 * AdamW (Loshchilov & Hutter 2019) after clipping by the global norm, on the device, with c₁ = 1/(1 − β₁ᵗ), c₂ = 1/(1 − β₂ᵗ):
 * g ← g·min(1, maxGradNorm/‖g‖); μ ← β₁μ + (1 − β₁)g; ν ← β₂ν + (1 − β₂)g²; θ ← θ − lr·(c₁μ/(√(c₂ν) + ε) + λθ).
 * The decay λ takes hold of every weight that learns, norms and biases included.
 */
export function adamStep(
  weights: Record<string, Tensor>,
  grads: Record<string, Tensor>,
  mu: Record<string, Tensor>,
  nu: Record<string, Tensor>,
  s: { learningRate: Tensor; correction1: Tensor; correction2: Tensor },
  o: OptimizerConfig,
): {
  weights: Record<string, Tensor>;
  mu: Record<string, Tensor>;
  nu: Record<string, Tensor>;
  gradNorm: Tensor;
} {
  const names = Object.keys(weights);
  const gradNorm = tf.sqrt(names.map((n) => tf.sum(tf.square(grads[n]!))).reduce((a, b) => tf.add(a, b)));
  const scale = tf.minimum(1, tf.div(o.maxGradNorm, tf.add(gradNorm, 1e-6)));
  // Scalars are multiplied first, so that each weight is passed over as few times as can be.
  const share1 = tf.mul(scale, 1 - o.beta1); // of the raw g in μ: (1 − β₁)·scale
  const share2 = tf.mul(tf.square(scale), 1 - o.beta2); // of the raw g² in ν: (1 − β₂)·scale²
  // c₁μ/(√(c₂ν) + ε) = (c₁/√c₂)·μ/(√ν + ε/√c₂)
  const rate = tf.mul(s.learningRate, tf.div(s.correction1, tf.sqrt(s.correction2))); // lr·c₁/√c₂
  const epsilon = tf.div(o.epsilon, tf.sqrt(s.correction2)); // ε/√c₂
  const keep = tf.sub(1, tf.mul(s.learningRate, o.weightDecay)); // of θ: 1 − lr·λ
  const out = {
    weights: {} as Record<string, Tensor>,
    mu: {} as Record<string, Tensor>,
    nu: {} as Record<string, Tensor>,
    gradNorm: gradNorm as Tensor,
  };
  for (const n of names) {
    const g = grads[n]!;
    const m = tf.add(tf.mul(mu[n]!, o.beta1), tf.mul(g, share1));
    const v = tf.add(tf.mul(nu[n]!, o.beta2), tf.mul(tf.square(g), share2));
    const move = tf.div(tf.mul(m, rate), tf.add(tf.sqrt(v), epsilon));
    out.mu[n] = m;
    out.nu[n] = v;
    out.weights[n] = tf.sub(o.weightDecay === 0 ? weights[n]! : tf.mul(weights[n]!, keep), move);
  }
  return out;
}

/** The state before the first update: zero moments. */
export function adamStart(trainable: Params): AdamState {
  const zeros = zerosLike(trainable);
  return { step: 0, mu: zeros, nu: zeros };
}

/** Bias corrections 1/(1 − βᵗ) for update number t, from 1. */
export function adamScalars(t: number, learningRate: number, o: OptimizerConfig): AdamScalars {
  return {
    learningRate: scalar(learningRate),
    correction1: scalar(1 / (1 - o.beta1 ** t)),
    correction2: scalar(1 / (1 - o.beta2 ** t)),
  };
}

export const scalar = (value: number): Arr => ({ shape: [], dtype: "float32", data: Float32Array.of(value) });

export function zerosLike(params: Params): Params {
  return Object.fromEntries(
    Object.entries(params).map(([n, p]) => [
      n,
      { shape: p.shape, dtype: "float32", data: new Float32Array(p.data.length) },
    ]),
  );
}
