import { InvariantError } from "../../core/errors.ts";
import { zip } from "../../core/zip.ts";

/** What an aggregation may need beside the lengths. */
export interface Denominators {
  /** Policy tokens of all groups sampled for one optimiser step, dropped ones included. */
  readonly sampledTokens?: number;
  /** A fixed number of tokens a row (`rl.constantTokens`): Dr.GRPO's L_max, the most a response may have. */
  readonly constantTokens?: number;
}

/**
 * Weight of one sequence's summed token losses, for each sequence of *one optimiser step*, from the number of its policy
 * tokens, [S] → [S]. Loss = Σ_i weight_i · Σ_t mask·loss, so no split into micro-batches can change it.
 */
export type Aggregation = (lengths: readonly number[], denominators?: Denominators) => number[];

/** Sequences without policy tokens count in no mean. */
const rows = {
  /** Σ over all tokens / number of them (DAPO eq. 8). */
  tokenMean: (lengths) => lengths.map(() => 1 / atLeastOne(total(lengths))),
  /** As tokenMean, over the tokens of all groups sampled: fewer surviving groups make a smaller step. */
  tokenMeanSampled: (lengths, denominators) =>
    lengths.map(() => 1 / positive("sampledTokens", denominators?.sampledTokens)),
  /** Mean over sequences of each one's token mean (GRPO). */
  seqMeanTokenMean: (lengths) => lengths.map((n) => (n === 0 ? 0 : 1 / (n * filled(lengths)))),
  /** Mean over sequences of each one's token sum. */
  seqMeanTokenSum: (lengths) => lengths.map((n) => (n === 0 ? 0 : 1 / filled(lengths))),
  /** Token sum over a constant length, mean over sequences (Dr.GRPO). */
  constant: (lengths, denominators) =>
    lengths.map((n) =>
      n === 0 ? 0 : 1 / (filled(lengths) * positive("constantTokens", denominators?.constantTokens)),
    ),
} satisfies Record<string, Aggregation>;

export type AggregationName = keyof typeof rows;
export const aggregations: Readonly<Record<AggregationName, Aggregation>> = rows;

/** Σ_i weight_i · Σ_t losses[i][t]; losses are 0 on masked tokens. */
export function aggregate(losses: readonly (readonly number[])[], weights: readonly number[]): number {
  return zip(losses, weights).reduce((sum, [row, weight]) => sum + weight * total(row), 0);
}

const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
const filled = (lengths: readonly number[]) => lengths.filter((n) => n > 0).length;
/** An optimiser step without a policy token has loss 0, not NaN. */
const atLeastOne = (n: number) => Math.max(n, 1);

function positive(name: string, value: number | undefined): number {
  if (value !== undefined && value > 0) return value;
  throw new InvariantError({
    what: `aggregation needs ${name}`,
    got: String(value),
    expected: "a positive number",
  });
}
