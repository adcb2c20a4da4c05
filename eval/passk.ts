/**
 * Closed forms over n samples of one question, c of them right. No value (undefined) when n < k: a label must carry
 * the k it was measured at.
 */

/** Chance that at least one of k samples drawn without replacement is right: 1 − C(n−c,k)/C(n,k) (Chen et al. 2021). */
export function passAt(n: number, c: number, k: number): number | undefined {
  if (!valid(n, c, k)) return undefined;
  let miss = 1;
  for (let i = 0; i < k; i++) miss *= Math.max(0, n - c - i) / (n - i);
  return 1 - miss;
}

/** Chance that all of k samples are right: C(c,k)/C(n,k) (pass^k of tau-bench). */
export function passAll(n: number, c: number, k: number): number | undefined {
  if (!valid(n, c, k)) return undefined;
  let hit = 1;
  for (let i = 0; i < k; i++) hit *= Math.max(0, c - i) / (n - i);
  return hit;
}

/** Mean over the first k samples. */
export function averageAt(values: readonly number[], k: number): number | undefined {
  if (k < 1 || values.length < k) return undefined;
  return values.slice(0, k).reduce((sum, value) => sum + value, 0) / k;
}

const valid = (n: number, c: number, k: number) => k >= 1 && n >= k && c >= 0 && c <= n;
