import { InvariantError } from "../core/errors.ts";

/**
 * The distributions that intervals and tests need. simple-statistics looks its normal up in a table of two decimals and
 * has no quantile of Student's t, so these are computed here, to about 1e-12.
 */

/** Φ(x) by Marsaglia's series (2004); in the far tails by Laplace's continued fraction, which keeps relative precision. */
export function normalCdf(x: number): number {
  if (Number.isNaN(x)) return Number.NaN;
  if (Math.abs(x) > 5) return x > 0 ? 1 - upperTail(x) : upperTail(-x);
  let term = x;
  let sum = x;
  for (let i = 3; Math.abs(term) > 1e-18 && i < 400; i += 2) {
    term *= (x * x) / i;
    sum += term;
  }
  return 0.5 + sum * density(x);
}

const density = (x: number) => Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);

function upperTail(x: number): number {
  let fraction = x;
  for (let i = 60; i >= 1; i--) fraction = x + i / fraction;
  return density(x) / fraction;
}

/** Quantile of Student's t with df > 0 degrees of freedom, not necessarily whole, at 0 < p < 1. */
export function tQuantile(p: number, df: number): number {
  if (!(p > 0 && p < 1 && df > 0))
    throw new InvariantError({ what: "no such quantile of t", got: `p ${p}, df ${df}` });
  if (p < 0.5) return -tQuantile(1 - p, df);
  if (p === 0.5) return 0;
  // P(T > t) = ½·I(df/(df+t²); df/2, ½), which falls as t grows.
  const above = (t: number) => 0.5 * incompleteBeta(df / (df + t * t), df / 2, 0.5);
  let [low, high] = [0, 1];
  while (above(high) > 1 - p) high *= 2;
  for (let i = 0; i < 200 && high - low > 1e-13 * high; i++) {
    const middle = (low + high) / 2;
    if (above(middle) > 1 - p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** I(x; a, b), the regularised incomplete beta function, by Lentz's continued fraction (DLMF 8.17.22). */
export function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges fast on this side of the mean alone.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  const away = (value: number) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m < 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let step = 1;
    for (const numerator of [even, odd]) {
      d = 1 / away(1 + numerator * d);
      c = away(1 + numerator / c);
      step = c * d;
      fraction *= step;
    }
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return (front * fraction) / a;
}

/** P(X ≤ k) of X ~ Binomial(n, p). */
export function binomialCdf(k: number, n: number, p: number): number {
  if (k < 0) return 0;
  return k >= n ? 1 : incompleteBeta(1 - p, n - k, k + 1);
}

/** P(X = k) of X ~ Binomial(n, p). */
export function binomialPmf(k: number, n: number, p: number): number {
  if (k < 0 || k > n) return 0;
  if (p <= 0 || p >= 1) return k === (p <= 0 ? 0 : n) ? 1 : 0;
  return Math.exp(logChoose(n, k) + k * Math.log(p) + (n - k) * Math.log1p(-p));
}

const logChoose = (n: number, k: number) => logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);

/** ln Γ(x) for x > 0: the recurrence up to x ≥ 10, then Stirling's series. */
export function logGamma(x: number): number {
  let shift = 0;
  let at = x;
  for (; at < 10; at++) shift -= Math.log(at);
  const inverse = 1 / (at * at);
  const series =
    (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / at;
  return shift + (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI) + series;
}
