import { InvariantError } from "../core/errors.ts";

/** A 95 % confidence interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Φ⁻¹(0.975). */
export const z95 = 1.959963984540054;

/**
 * Wilson's score interval for a rate (Wilson 1927), 95 %, clipped to [0, 1]. Right at rates of 0 and 1 and at small n,
 * where ±1.96·SE is not. `successes` may be fractional: the sum of per-question means over several samples, for which
 * the interval is on the wide side (the variance of such a mean is at most p(1−p)). n = 0 gives [0, 1].
 */
export function wilson(successes: number, n: number): Interval {
  if (!(successes >= 0 && successes <= n && Number.isFinite(n)))
    throw new InvariantError({ what: "a rate needs 0 ≤ successes ≤ n", got: `${successes} of ${n}` });
  if (n === 0) return { low: 0, high: 1 };
  const p = successes / n;
  const zz = (z95 * z95) / n;
  const centre = p + zz / 2;
  const half = Math.sqrt(zz * (p * (1 - p) + zz / 4));
  // At the ends the bound is exact; rounding must not push it past them.
  return {
    low: successes === 0 ? 0 : Math.max(0, (centre - half) / (1 + zz)),
    high: successes === n ? 1 : Math.min(1, (centre + half) / (1 + zz)),
  };
}

/** A rate with its interval and what it is a rate of. */
export interface Rate extends Interval {
  readonly n: number;
  readonly em: number;
}

/** Mean of values in [0, 1], one per question, with Wilson's interval; em is 0 for an empty list (n says so). */
export function rateOf(values: readonly number[]): Rate {
  const sum = values.reduce((total, value) => total + value, 0);
  // A sum of fractions may exceed n by rounding.
  const successes = Math.min(sum, values.length);
  return {
    n: values.length,
    em: values.length === 0 ? 0 : successes / values.length,
    ...wilson(successes, values.length),
  };
}

/** Do two intervals have no point in common? */
export function apart(a: Interval, b: Interval): boolean {
  return a.high < b.low || b.high < a.low;
}
