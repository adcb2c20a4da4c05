import type { Metrics, StepMetrics } from "./run-db.ts";

/** Tokens that the policy sampled in one step of RL: of every episode, kept or not; earlier versions recorded only means. */
export const sampledTokensOf = (metrics: Metrics): number =>
  metrics.sampled_tokens ?? Math.round((metrics.policy_tokens ?? 0) * (metrics.episodes ?? 0));

/** The same of all steps of RL, or of those up to number `last`. */
export const sampledTokens = (steps: readonly StepMetrics[], last = Number.POSITIVE_INFINITY): number =>
  steps.reduce(
    (n, { phase, step, metrics }) => n + (phase === "rl" && step <= last ? sampledTokensOf(metrics) : 0),
    0,
  );
