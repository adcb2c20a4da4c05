import { mean } from "simple-statistics";
import { InvariantError } from "../core/errors.ts";
import { rng } from "../core/rng.ts";
import { zip } from "../core/zip.ts";
import { binomialCdf } from "./distributions.ts";
import { clusteredMean, meanInterval } from "./statistics.ts";
import { type Interval, z95 } from "./wilson.ts";

/** Counts of pairs of right and wrong. */
export interface Discordance {
  readonly both: number;
  readonly onlyA: number;
  readonly onlyB: number;
  readonly neither: number;
}

/** The mean of b − a over pairs, one a question. */
export interface PairedMean extends Interval {
  readonly n: number;
  readonly a: number;
  readonly b: number;
  readonly difference: number;
  /** Of the difference, sd/√n of the pairs' differences; null with fewer than two pairs. */
  readonly standardError: number | null;
  /** Where the interval comes from. */
  readonly interval: "tango" | "bootstrap" | "t" | "none";
}

export interface PairedDifference extends PairedMean {
  /** Two-sided sign-flip permutation test of no difference. */
  readonly signFlip: number;
  /** When every value is 0 or 1, and can be nothing else than in [0, 1]: the table of pairs and McNemar's exact test. */
  readonly pairs?: Discordance & { readonly mcnemar: number };
}

export interface PairOptions {
  readonly seed: number;
  /** The values cannot leave [0, 1]. */
  readonly unit: boolean;
}

/**
 * b − a with its interval, from values of the same questions in the same order. Right and wrong get Tango's interval,
 * which is right when few pairs differ; other values the bootstrap's, or Student's where there are many. In [0, 1] even questions that all came out the same
 * have an interval, as they may have by luck.
 * @throws InvariantError for unequal lengths or no pair
 */
export function pairedMean(
  a: readonly number[],
  b: readonly number[],
  { seed, unit }: PairOptions,
): PairedMean {
  const pairs = zip(a, b);
  if (pairs.length === 0) throw new InvariantError({ what: "a comparison of no pair" });
  const n = pairs.length;
  const differences = pairs.map(([x, y]) => y - x);
  const { mean: difference, standardError } = clusteredMean(
    differences,
    differences.map((_, i) => `${i}`),
  );
  const base = {
    ...{ n, a: mean([...a]), b: mean([...b]), difference },
    standardError: Number.isFinite(standardError) ? standardError : null,
  };
  if (unit && areRightOrWrong(pairs)) {
    const { onlyA, onlyB } = discordance(pairs);
    return { ...base, ...tango(onlyB, onlyA, n), interval: "tango" };
  }
  if (differences.some((each) => each !== differences[0]))
    return { ...base, ...meanInterval(differences, { seed }) };
  if (unit && difference === 0) return { ...base, ...tango(0, 0, n), interval: "tango" };
  return { ...base, low: difference, high: difference, interval: "none" };
}

/** The same with the tests of no difference. */
export function pairedDifference(
  a: readonly number[],
  b: readonly number[],
  options: PairOptions,
): PairedDifference {
  const means = pairedMean(a, b, options);
  const pairs = zip(a, b);
  const differences = pairs.map(([x, y]) => y - x);
  const tested = { ...means, signFlip: signFlip(differences, options) };
  if (!options.unit || !areRightOrWrong(pairs)) return tested;
  const table = discordance(pairs);
  return { ...tested, pairs: { ...table, mcnemar: mcnemar(table.onlyA, table.onlyB) } };
}

type Pairs = readonly (readonly [number, number])[];
const areRightOrWrong = (pairs: Pairs) =>
  pairs.every((pair) => pair.every((value) => value === 0 || value === 1));

function discordance(pairs: Pairs): Discordance {
  const count = (a: number, b: number) => pairs.filter(([x, y]) => x === a && y === b).length;
  return { both: count(1, 1), onlyA: count(1, 0), onlyB: count(0, 1), neither: count(0, 0) };
}

/** McNemar's exact test, two-sided (the binomial test of the pairs that differ); 1 when none does. */
export function mcnemar(onlyA: number, onlyB: number): number {
  const [fewer, n] = [Math.min(onlyA, onlyB), onlyA + onlyB];
  return Math.min(1, 2 * (n <= 1000 ? evenCdf(fewer, n) : binomialCdf(fewer, n, 0.5)));
}

/** P(X ≤ k) of X ~ Binomial(n, ½), by its terms: to the last bits, which 0.05 may hang on. */
function evenCdf(k: number, n: number): number {
  let term = 0.5 ** n;
  let sum = term;
  for (let i = 0; i < k; i++) {
    term *= (n - i) / (i + 1);
    sum += term;
  }
  return sum;
}

/**
 * Sign-flip permutation test of mean 0, two-sided: all 2^m sign patterns where m ≤ 14 values are not 0, else `draws` of
 * them, keyed, with p = (1 + as extreme)/(1 + draws), which is never 0 (Phipson and Smyth 2010).
 */
export function signFlip(
  differences: readonly number[],
  { seed, draws = 9999 }: { readonly seed: number; readonly draws?: number },
): number {
  const values = differences.filter((value) => value !== 0);
  const total = values.reduce((sum, value) => sum + value, 0);
  // Sums in another order differ in their last bits; those are ties.
  const extreme = Math.abs(total) - 1e-9 * values.reduce((sum, value) => sum + Math.abs(value), 0);
  const m = values.length;
  if (m <= 14) {
    let count = 0;
    for (let signs = 0; signs < 2 ** m; signs++) {
      const sum = values.reduce((sum, value, i) => sum + ((signs >> i) & 1 ? value : -value), 0);
      if (Math.abs(sum) >= extreme) count++;
    }
    return count / 2 ** m;
  }
  const draw = rng(seed, "sign flip", m, draws);
  let count = 0;
  for (let i = 0; i < draws; i++) {
    // The sum of those that keep their sign; 32 signs to a draw.
    let kept = 0;
    for (let from = 0; from < m; from += 32) {
      let signs = draw.int(2 ** 32) | 0;
      for (let j = from; j < Math.min(m, from + 32); j++) {
        kept += (signs & 1) * (values[j] as number);
        signs >>>= 1;
      }
    }
    if (Math.abs(2 * kept - total) >= extreme) count++;
  }
  return (1 + count) / (1 + draws);
}

/**
 * Tango's score interval (1998) of a difference of paired rates, 95 %: `gains` pairs went up and `losses` down of n.
 * Right when few pairs differ, even none: of 100 pairs without a change it is ±0.037.
 */
export function tango(gains: number, losses: number, n: number): Interval {
  if (!(gains >= 0 && losses >= 0 && n > 0 && gains + losses <= n))
    throw new InvariantError({ what: "not counts of pairs", got: `${gains} + ${losses} of ${n}` });
  const difference = (gains - losses) / n;
  // The score statistic falls as the difference that it tests grows.
  const score = (delta: number) => {
    // The larger root of 2n·q² + B·q + C = 0: the likeliest rate of losses if the difference were delta.
    const middle = -gains - losses + (2 * n - gains + losses) * delta;
    const last = -losses * delta * (1 - delta);
    const rate = (Math.sqrt(Math.max(0, middle * middle - 8 * n * last)) - middle) / (4 * n);
    const variance = n * (2 * rate + delta * (1 - delta));
    return (gains - losses - n * delta) / Math.sqrt(Math.max(variance, 1e-300));
  };
  return {
    low: difference === -1 ? -1 : boundary(-1, difference, (delta) => score(delta) > z95),
    high: difference === 1 ? 1 : boundary(difference, 1, (delta) => score(delta) >= -z95),
  };
}

/** Where a condition that holds at `from` ceases to. */
function boundary(from: number, to: number, holds: (at: number) => boolean): number {
  let [low, high] = [from, to];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Holm's step-down adjustment (1979): each p times the number of hypotheses not yet decided, in the order given. A
 * difference counts at 5 % when its adjusted p is at most 0.05; right under any dependence between the tests.
 */
export function holm(ps: readonly number[]): number[] {
  const order = ps.map((p, i) => ({ p, i })).sort((a, b) => a.p - b.p);
  const adjusted = new Array<number>(ps.length);
  let least = 0;
  order.forEach(({ p, i }, rank) => {
    least = Math.max(least, Math.min(1, p * (ps.length - rank)));
    adjusted[i] = least;
  });
  return adjusted;
}
