import type { Schedule } from "./config.ts";

/** Learning rate of step 0 … steps−1: linear rise, then constant or a linear fall to `finalFraction`. */
export function learningRateAt(step: number, steps: number, s: Schedule): number {
  const rise = s.warmupSteps === 0 ? 1 : Math.min(1, (step + 1) / s.warmupSteps);
  const from = s.decayFrom * steps;
  const share = s.decay === "constant" || step < from ? 0 : (step + 1 - from) / Math.max(1, steps - from);
  return s.learningRate * rise * (1 - (1 - s.finalFraction) * share);
}
