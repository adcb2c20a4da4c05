/** An estimator of KL(π_θ ‖ π_ref) at one token sampled from π_θ, from its log-probabilities under both. */
export type KlEstimator = (logprob: number, reference: number) => number;

/**
 * Schulman's estimators, with Δ = log π_θ − log π_ref. As a *loss*: k1's gradient is zero in expectation, k2's is the
 * gradient of KL(π_θ ‖ π_ref), k3's that of KL(π_ref ‖ π_θ).
 */
export const klEstimators = {
  /** Δ: unbiased, may be negative. For the reward, never a loss. */
  k1: (logprob, reference) => logprob - reference,
  /** Δ²/2: biased, low variance. */
  k2: (logprob, reference) => (logprob - reference) ** 2 / 2,
  /** e^−Δ + Δ − 1: unbiased, never negative. */
  k3: (logprob, reference) => Math.expm1(reference - logprob) - (reference - logprob),
} satisfies Record<string, KlEstimator>;

export type KlName = keyof typeof klEstimators;
