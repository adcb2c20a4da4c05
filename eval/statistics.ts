import { mean, quantileSorted, sampleStandardDeviation } from "simple-statistics";
import { InvariantError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { normalCdf, tQuantile } from "./distributions.ts";
import { z80 } from "./power.ts";
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
 * Bootstrap interval of a mean, 95 %, values drawn with replacement (one per question: average samples first).
 * Expanded percentiles (Hesterberg 2015, §4.3): the plain ones are too narrow by √((n−1)/n) and know no Student's t.
 * The draws are keyed, so the interval is a function of its arguments. One value gives an interval without width.
 */
export function bootstrapMean(
  values: readonly number[],
  { seed, resamples = 2000 }: { readonly seed: number; readonly resamples?: number },
): Interval {
  const n = values.length;
  if (n === 0) throw new InvariantError({ what: "bootstrap of nothing" });
  const draw = rng(seed, "bootstrap", n, resamples);
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += values[draw.int(n)] as number;
    return sum / n;
  }).sort((a, b) => a - b);
  const tail = n === 1 ? 0.025 : normalCdf(-Math.sqrt(n / (n - 1)) * tQuantile(0.975, n - 1));
  return { low: quantileSorted(means, tail), high: quantileSorted(means, 1 - tail) };
}

/** Bootstrap up to 1,000 values; past that Student's t, which is then the same to the third digit and takes no time. */
export function meanInterval(
  values: readonly number[],
  o: { readonly seed: number },
): Interval & { readonly interval: "bootstrap" | "t" } {
  const n = values.length;
  if (n <= 1000) return { ...bootstrapMean(values, o), interval: "bootstrap" };
  const centre = mean(values as number[]);
  const half = tQuantile(0.975, n - 1) * (sampleStandardDeviation(values as number[]) / Math.sqrt(n));
  return { low: centre - half, high: centre + half, interval: "t" };
}

/** A mean with its interval. */
export interface Estimate extends Interval {
  /** Questions. */
  readonly n: number;
  readonly mean: number;
  /** null with fewer than two values. */
  readonly standardError: number | null;
}

/** Mean of one value a question: Wilson's interval where every value is 0 or 1, else the bootstrap's or Student's. */
export function estimate(values: readonly number[], o: { readonly seed: number }): Estimate {
  const { mean, standardError, n } = clusteredMean(
    values,
    values.map((_, i) => `${i}`),
  );
  const binary = n > 0 && values.every((value) => value === 0 || value === 1);
  const { low, high } = binary ? wilson(Math.round(mean * n), n) : meanInterval(values, o);
  return { n, mean, standardError: Number.isFinite(standardError) ? standardError : null, low, high };
}

/**
 * Macro mean: the mean of the strata's means (data sets, each counting the same), with an interval from Student's t and
 * Satterthwaite's degrees of freedom. No interval when a stratum has fewer than two values.
 */
export function macroMean(strata: readonly (readonly number[])[]): Omit<Estimate, "n"> {
  const parts = strata.map((values) =>
    clusteredMean(
      values,
      values.map((_, i) => `${i}`),
    ),
  );
  const centre = mean(parts.map((part) => part.mean));
  const variances = parts.map(({ standardError }) => standardError ** 2);
  const total = variances.reduce((sum, variance) => sum + variance, 0);
  const spread = parts.reduce((sum, { n }, i) => sum + (variances[i] as number) ** 2 / (n - 1), 0);
  const standardError = Math.sqrt(total) / parts.length;
  if (!(total > 0)) {
    const none = Number.isFinite(total) ? 0 : null;
    return { mean: centre, standardError: none, low: centre, high: centre };
  }
  const half = tQuantile(0.975, total ** 2 / spread) * standardError;
  return { mean: centre, standardError, low: centre - half, high: centre + half };
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
  return (z95 + z80) * Math.sqrt((2 * p * (1 - p)) / n);
}
