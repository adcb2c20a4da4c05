import { mean, quantileSorted } from "simple-statistics";
import { InvariantError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { type Interval, wilson, z95 } from "./wilson.ts";

export interface ClusteredMean {
  readonly mean: number;
  /** Standard error with dependence inside clusters allowed for. */
  readonly standardError: number;
  readonly n: number;
  readonly clusters: number;
}

/**
 * Mean and clustered standard error (Miller 2024, eq. 4, with the C/(C−1) correction): samples of one question are one
 * cluster. With clusters of one it is the ordinary sd/√n. NaN with fewer than two clusters.
 */
export function clusteredMean(values: readonly number[], clusters: readonly string[]): ClusteredMean {
  if (values.length !== clusters.length)
    throw new InvariantError({
      what: "values and clusters differ in length",
      got: `${values.length}, ${clusters.length}`,
    });
  const n = values.length;
  if (n === 0) return { mean: Number.NaN, standardError: Number.NaN, n, clusters: 0 };
  const centre = mean(values as number[]);
  const sums = new Map<string, number>();
  values.forEach((value, i) => {
    const cluster = clusters[i] as string;
    sums.set(cluster, (sums.get(cluster) ?? 0) + value - centre);
  });
  const count = sums.size;
  const squares = [...sums.values()].reduce((total, sum) => total + sum * sum, 0);
  const standardError = count < 2 ? Number.NaN : Math.sqrt((squares * count) / (count - 1)) / n;
  return { mean: centre, standardError, n, clusters: count };
}

/**
 * Percentile bootstrap of the mean, 95 %, values drawn with replacement (one per question: average samples first).
 * The draws are keyed, so the interval is a function of its arguments.
 */
export function bootstrapMean(
  values: readonly number[],
  { seed, resamples = 2000 }: { readonly seed: number; readonly resamples?: number },
): Interval {
  if (values.length === 0) throw new InvariantError({ what: "bootstrap of nothing" });
  const draw = rng(seed, "bootstrap", values.length, resamples);
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[draw.int(values.length)] as number;
    return sum / values.length;
  }).sort((a, b) => a - b);
  return { low: quantileSorted(means, 0.025), high: quantileSorted(means, 0.975) };
}

export interface Proportion {
  readonly successes: number;
  readonly n: number;
}

/**
 * b's rate minus a's, of two independent samples, with Newcombe's hybrid score interval (Newcombe 1998, method 10),
 * 95 %. Two policies on the *same* questions are paired: there this interval is too wide, never too narrow in practice.
 */
export function rateDifference(a: Proportion, b: Proportion): Interval & { readonly difference: number } {
  if (a.n === 0 || b.n === 0) throw new InvariantError({ what: "difference with an empty sample" });
  const [pa, pb] = [a.successes / a.n, b.successes / b.n];
  const [wa, wb] = [wilson(a.successes, a.n), wilson(b.successes, b.n)];
  const difference = pb - pa;
  return {
    difference,
    low: difference - Math.hypot(pb - wb.low, wa.high - pa),
    high: difference + Math.hypot(wb.high - pb, pa - wa.low),
  };
}

/** z of the pooled two-proportion test; 0 when both rates are the same, also at 0 and 1. */
export function twoProportionZ(a: Proportion, b: Proportion): number {
  const pooled = (a.successes + b.successes) / (a.n + b.n);
  const standardError = Math.sqrt(pooled * (1 - pooled) * (1 / a.n + 1 / b.n));
  return standardError === 0 ? 0 : (b.successes / b.n - a.successes / a.n) / standardError;
}

/** Smallest difference from a rate p that n questions a side can show with 80 % power at 5 % (two-sided, unpaired). */
export function detectableDifference(p: number, n: number): number {
  const z80 = 0.8416212335729143;
  return (z95 + z80) * Math.sqrt((2 * p * (1 - p)) / n);
}
