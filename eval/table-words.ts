import type { Rate } from "./wilson.ts";

/** A share with three decimals. */
export const decimal = (value: number): string => value.toFixed(3);

/** A rate with its interval; a dash for a rate of nothing. */
export const rate = ({ em, low, high, n }: Rate): string =>
  n === 0 ? "–" : `${decimal(em)} [${decimal(low)}, ${decimal(high)}]`;

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** "0", "840", "812 k", "480 M": three digits that matter. */
export function tokenCount(tokens: number): string {
  const [size, unit] =
    tokens < 1e3 ? [1, ""] : tokens < 999_500 ? [1e3, " k"] : tokens < 999.5e6 ? [1e6, " M"] : [1e9, " G"];
  const value = tokens / size;
  const digits = unit === "" || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)}${unit}`;
}
