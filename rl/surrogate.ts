import type { Tensor } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import { maxLogRatio } from "./reference/surrogate.ts";

/** What a surrogate sees. Token arrays are [B, T]; the bounds are scalars and change without a new trace. */
export interface SurrogateInput {
  /** log π_θ, carries the gradient. */
  readonly logprobs: Tensor;
  /** log π_old. */
  readonly old: Tensor;
  readonly advantages: Tensor;
  /** 1 on policy tokens. */
  readonly mask: Tensor;
  /** ρ is clipped to [1 − clipLow, 1 + clipHigh]. */
  readonly clipLow: Tensor;
  readonly clipHigh: Tensor;
}

/** Token losses, [B, T]; zero advantage gives zero loss. */
export type Surrogate = (input: SurrogateInput) => Tensor;

const logRatio = ({ logprobs, old, mask }: SurrogateInput) =>
  tf.mul(tf.maximum(tf.minimum(tf.sub(logprobs, old), maxLogRatio), -maxLogRatio), mask);

const clip = (ratio: Tensor, { clipLow, clipHigh }: SurrogateInput) =>
  tf.maximum(tf.minimum(ratio, tf.add(1, clipHigh)), tf.sub(1, clipLow));

const clipped = (ratio: Tensor, input: SurrogateInput) =>
  tf.neg(tf.minimum(tf.mul(ratio, input.advantages), tf.mul(clip(ratio, input), input.advantages)));

/** Passes the value, stops the gradient. */
const stopGradient = tf.customGrad((x) => ({
  value: tf.clone(x as Tensor),
  gradFunc: (dy) => tf.zerosLike(dy as Tensor),
})) as (x: Tensor) => Tensor;

/** PPO's clipped surrogate with separate bounds (DAPO eq. 10, clip-higher); equal bounds give GRPO. */
const ppoClip: Surrogate = (input) => clipped(tf.exp(logRatio(input)), input);

/** CISPO (MiniMax-M1, eq. 4): −sg[clip(ρ)]·A·ℓ; no token loses its gradient. */
const cispo: Surrogate = (input) =>
  tf.neg(
    tf.mul(tf.mul(stopGradient(clip(tf.exp(logRatio(input)), input)), input.advantages), input.logprobs),
  );

/** GSPO (arXiv 2507.18071): one ratio a sequence, the geometric mean of its tokens'; gradient shared by its tokens. */
const gspo: Surrogate = (input) => {
  const count = tf.maximum(tf.sum(input.mask, -1, true), 1);
  const mean = tf.minimum(tf.div(tf.sum(logRatio(input), -1, true), count), 10); // [B, 1]
  const own = tf.sub(input.logprobs, stopGradient(input.logprobs));
  return clipped(tf.exp(tf.add(stopGradient(mean), own)), input);
};

/** REINFORCE: −A·ℓ. With A ∈ {0, 1} it is the likelihood of one's own correct episodes (rejection sampling). */
const reinforce: Surrogate = (input) => tf.neg(tf.mul(input.advantages, input.logprobs));

export const surrogates = { ppoClip, cispo, gspo, reinforce } satisfies Record<string, Surrogate>;
export type SurrogateName = keyof typeof surrogates;

/** KL terms per token, [B, T], of Δ = log π_θ − log π_ref. `k1` has zero gradient in expectation, so it is not offered as a loss. */
export const klTerms = {
  /** ½Δ²: its gradient is that of KL(π_θ‖π_ref). */
  k2: (delta: Tensor) => tf.mul(tf.square(delta), 0.5),
  /** e^{−Δ} + Δ − 1 ≥ 0 (Schulman); Δ clamped to ±20. */
  k3: (delta: Tensor) => {
    const d = tf.maximum(tf.minimum(delta, maxLogRatio), -maxLogRatio);
    return tf.sub(tf.add(tf.exp(tf.neg(d)), d), 1);
  },
} satisfies Record<string, (delta: Tensor) => Tensor>;
export type KlName = keyof typeof klTerms | "none";
