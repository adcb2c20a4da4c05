import type { Rate } from "../wilson.ts";

/** A share with three decimals. */
export const decimal = (value: number): string => value.toFixed(3);

export const signed = (value: number): string => `${value < 0 ? "−" : "+"}${decimal(Math.abs(value))}`;

export const interval = ({ low, high }: { low: number; high: number }): string =>
  `[${compact(low)}, ${compact(high)}]`;

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** A rate with its interval; a dash for a rate of nothing. */
export const rateText = ({ em, low, high, n }: Rate): string =>
  n === 0 ? "–" : `${decimal(em)} [${decimal(low)}, ${decimal(high)}]`;

/** Three or four digits that matter, whatever the size: "113.1", "2.027", "0.03215", "1.1e-7". */
export function compact(value: number): string {
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : "";
  if (size === 0) return "0";
  if (size < 0.001) return sign + size.toExponential(1);
  if (size >= 1e6) return sign + size.toExponential(2);
  return sign + size.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

/** "2 h 5 min", "4 min 10 s", "12 s". */
export function duration(seconds: number): string {
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/** At most `most` of a list, evenly spread, the first and the last among them. */
export function thin<T>(list: readonly T[], most: number): readonly T[] {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, i) => list[Math.round((i * (list.length - 1)) / (most - 1))] as T);
}
