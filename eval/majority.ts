/** Samples of one question that gave one (normalised) answer. */
export interface Vote {
  readonly count: number;
  readonly right: boolean;
}

/**
 * maj@k, exactly: the chance that the commonest answer among k samples, drawn without replacement, is right. Tie rule: an
 * answer that shares the first place with j others wins in one of 1 + j cases, so the value does not depend on the order
 * of samples. Samples without an answer abstain: they are drawn but cannot win.
 * Undefined when there are fewer than k samples.
 */
export function majorityAt(votes: readonly Vote[], abstentions: number, k: number): number | undefined {
  const n = votes.reduce((sum, { count }) => sum + count, abstentions);
  if (k < 1 || n < k) return undefined;
  let ways = 0;
  votes.forEach(({ count, right }, own) => {
    if (!right) return;
    const others = votes.filter((_, i) => i !== own).map((vote) => vote.count);
    for (let top = 1; top <= Math.min(count, k); top++)
      ways += choose(count, top) * othersAtMost(others, abstentions, k - top, top);
  });
  // A sum of products of large numbers may exceed the whole by rounding.
  return Math.min(1, ways / choose(n, k));
}

/** Ways in which `draws` samples are others' with none above `top`, each weighted by its share 1/(1 + ties at top). */
function othersAtMost(counts: readonly number[], abstentions: number, draws: number, top: number): number {
  const most = Math.floor(draws / top);
  // ways[ties][used]
  let ways = Array.from({ length: most + 1 }, () => new Float64Array(draws + 1));
  ways[0]![0] = 1;
  for (const count of counts) {
    const next = ways.map((row) => Float64Array.from(row));
    for (let ties = 0; ties <= most; ties++)
      for (let used = 0; used < draws; used++) {
        const before = ways[ties]![used]!;
        if (before === 0) continue;
        for (let take = 1; take <= Math.min(count, top, draws - used); take++)
          next[take === top ? ties + 1 : ties]![used + take]! += before * choose(count, take);
      }
    ways = next;
  }
  let sum = 0;
  ways.forEach((row, ties) => {
    row.forEach((value, used) => {
      if (value > 0 && draws - used <= abstentions)
        sum += (value * choose(abstentions, draws - used)) / (1 + ties);
    });
  });
  return sum;
}

const rows: number[][] = [[1]];

/** Binomial coefficient by Pascal's triangle, kept; up to n = 1029 it is a finite number. */
function choose(n: number, k: number): number {
  for (let i = rows.length; i <= n; i++) {
    const above = rows[i - 1] as number[];
    rows.push(Array.from({ length: i + 1 }, (_, j) => (above[j - 1] ?? 0) + (above[j] ?? 0)));
  }
  return rows[n]?.[k] ?? 0;
}
