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
    lengths[i] === 0 ? [] : [{ ...row, weights: row.mask.map((m) => m * weight) }],
  );
}
