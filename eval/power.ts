import { binomialCdf, binomialPmf } from "./distributions.ts";
import { z95 } from "./wilson.ts";

/** Φ⁻¹(0.8). */
export const z80 = 0.8416212335729143;

/**
 * Smallest difference between two evaluations of the same n questions that McNemar's exact test finds at 5 % in four of
 * five repetitions, when a share `discordant` of the questions comes out differently. Undetectable at any size: 1 is
 * returned (fewer than 6 questions can never reach 5 %).
 * Computed from the exact power where few questions differ, by the normal approximation (Connor 1987) where many do.
 */
export function detectableRate(n: number, discordant: number): number {
  const share = Math.min(1, Math.max(discordant, 1e-9));
  if (n * share > 200) return Math.min(1, approximate(n, share));
  let [low, high] = [0, 1];
  if (power(n, share, 1) < 0.8) return 1;
  for (let i = 0; i < 30; i++) {
    const middle = (low + high) / 2;
    if (power(n, share, middle) < 0.8) low = middle;
    else high = middle;
  }
  return high;
}

/** (z.975·√ψ + z.8·√(ψ − δ²))/√n, solved for δ by iteration. */
function approximate(n: number, share: number): number {
  let difference = 0;
  for (let i = 0; i < 50; i++)
    difference =
      (z95 * Math.sqrt(share) + z80 * Math.sqrt(Math.max(0, share - difference * difference))) / Math.sqrt(n);
  return difference;
}

/** Exact power of the two-sided exact McNemar test at 5 %. A difference larger than `share` takes all of it. */
function power(n: number, share: number, difference: number): number {
  const differing = Math.max(share, difference);
  const up = (differing + difference) / 2 / differing;
  const spread = 8 * Math.sqrt(n * differing * (1 - differing)) + 8;
  const from = Math.max(6, Math.floor(n * differing - spread));
  const to = Math.min(n, Math.ceil(n * differing + spread));
  let total = 0;
  let critical = -1;
  for (let m = from; m <= to; m++) {
    while (2 * binomialCdf(critical + 1, m, 0.5) <= 0.05) critical++;
    const rejected = binomialCdf(critical, m, 1 - up) + binomialCdf(critical, m, up);
    total += binomialPmf(m, n, differing) * rejected;
  }
  return total;
}

/** The same for values that are no rates, from the standard deviation of the pairs' differences: (z.975 + z.8)·sd/√n. */
export function detectableMean(n: number, sd: number): number {
  return ((z95 + z80) * sd) / Math.sqrt(n);
}

/** Questions needed to show a difference with 80 % power at 5 %, from the variance of the pairs' differences. */
export function questionsFor(difference: number, variance: number): number {
  return Math.ceil(((z95 + z80) ** 2 * variance) / difference ** 2);
}
