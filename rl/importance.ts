import { zip } from "../core/zip.ts";
import type { ImportanceConfig } from "./remote-config.ts";

/** The bounds a mode may use. */
export type ImportanceBounds = Pick<ImportanceConfig, "cap" | "low" | "high">;

interface Mode {
  /** Whose ratio π_old/π_sampler is weighed: each token's, or the product of a row's. */
  readonly level: "token" | "sequence";
  /** The weight that stands for a ratio, ≥ 0. */
  readonly weight: (ratio: number, bounds: ImportanceBounds) => number;
}

const truncated: Mode["weight"] = (ratio, { cap }) => Math.min(ratio, cap);
const inside: Mode["weight"] = (ratio, { low, high }) => (ratio < low || ratio > high ? 0 : ratio);

/** How the gap between sampler and trainer is weighed. */
export const importanceModes = {
  none: { level: "token", weight: () => 1 },
  /** Truncated importance sampling (TIS). */
  token: { level: "token", weight: truncated },
  /** IcePop: what is outside [low, high] counts nothing. */
  mask: { level: "token", weight: inside },
  /** One truncated weight a row: unbiased for whole sequences below the cap, and noisier with every token. */
  sequence: { level: "sequence", weight: truncated },
  /** Rows whose ratio is outside [low, high] count nothing. */
  sequenceMask: { level: "sequence", weight: inside },
} as const satisfies Record<string, Mode>;
export type ImportanceMode = keyof typeof importanceModes;

/** One row's log-probabilities; all [T], read where the mask is 1. */
export interface Gap {
  /** log π_old, the trainer's under the version that sampled. */
  readonly old: readonly number[];
  /** log π_sampler, as recorded. */
  readonly sampler: readonly number[];
  readonly mask: readonly number[];
}

/** What the mode reads at each token, before it caps or drops anything, [T]; 0 where the mask is 0. */
export function importanceRatios(mode: ImportanceMode, { old, sampler, mask }: Gap): number[] {
  const deltas = zip(old, sampler).map(([o, s], t) => (mask[t] === 0 ? 0 : o - s));
  if (importanceModes[mode].level === "token")
    return zip(deltas, mask).map(([delta, m]) => (m === 0 ? 0 : Math.exp(delta)));
  const whole = Math.exp(deltas.reduce((sum, delta) => sum + delta, 0));
  return mask.map((m) => (m === 0 ? 0 : whole));
}

/**
 * Weight of each token's loss, [T]; 0 where the mask is 0. Multiplying the advantage by it is exact for every
 * surrogate: each is positively homogeneous in the advantage, since w·min(ρA, clip(ρ)A) = min(ρ·wA, clip(ρ)·wA).
 */
export function importanceWeights(mode: ImportanceMode, gap: Gap, bounds: ImportanceBounds): number[] {
  const { weight } = importanceModes[mode];
  return zip(importanceRatios(mode, gap), gap.mask).map(([ratio, m]) =>
    m === 0 ? 0 : weight(ratio, bounds),
  );
}
