/**
 * Weight of one token for the gap between sampler and trainer, from log π_old (the trainer's) and log π_sampler.
 * It multiplies the surrogate from outside the min/clip and carries no gradient.
 */

/** Truncated importance sampling: min(π_old/π_sampler, cap). */
export function truncatedImportance(oldLogprob: number, samplerLogprob: number, cap = 2): number {
  return Math.min(Math.exp(oldLogprob - samplerLogprob), cap);
}

/** IcePop: the ratio inside [low, high], 0 outside. */
export function icePop(oldLogprob: number, samplerLogprob: number, low = 0.5, high = 2): number {
  const ratio = Math.exp(oldLogprob - samplerLogprob);
  return ratio < low || ratio > high ? 0 : ratio;
}
