import { zip } from "../core/zip.ts";
import type { WeightedRow } from "./micro-batch.ts";
import { type AggregationName, aggregations, type Denominators } from "./reference/aggregate.ts";
import type { Row } from "./row.ts";

/**
 * Gives every token its weight in the update's loss Σ w·ℓ. Weights are fixed before rows are dealt into
 * micro-batches, so any split gives the same gradient. Rows without a policy token are left out.
 */
export function weigh(
  rows: readonly Row[],
  name: AggregationName,
  denominators: Denominators,
): WeightedRow[] {
  const lengths = rows.map((row) => row.mask.reduce((sum, m) => sum + m, 0));
  const weights = aggregations[name](lengths, denominators);
  return zip(rows, weights).flatMap(([row, weight], i) =>
    lengths[i] === 0 ? [] : [{ ...row, weights: row.mask.map((m, t) => m * weight * (row.scale?.[t] ?? 1)) }],
  );
}

/** The same with the rows of each adapter as a step of its own: what is divided by is the adapter's alone. In their order. */
export function weighEach(
  rows: readonly Row[],
  name: AggregationName,
  denominators: (adapter: string | undefined) => Denominators,
): WeightedRow[] {
  const adapters = new Set(rows.map(({ adapter }) => adapter));
  const weighed = new Map<Row, WeightedRow>();
  for (const adapter of adapters) {
    // Rows without a policy token are left out, but not in their place: what comes out is matched with what went in.
    const own = rows.filter((row) => row.adapter === adapter && row.mask.includes(1));
    for (const [row, weight] of zip(own, weigh(own, name, denominators(adapter)))) weighed.set(row, weight);
  }
  return rows.flatMap((row) => weighed.get(row) ?? []);
}
