import { DataError } from "../core/errors.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Learner, UpdateReport } from "./learner.ts";
import { ladder, rowsOf, type WeightedRow } from "./micro-batch.ts";
import type { AdapterOf } from "./policy/adapter-sampler.ts";

/**
 * A trajectory's sequences as supervised rows: weight 1 on what the policy wrote, `observationWeight` on the rest. Where
 * the policy has several adapters each row is its seat's.
 */
export function sftRows(
  trajectory: Trajectory,
  observationWeight: number,
  adapterOf: AdapterOf = () => undefined,
): WeightedRow[] {
  return trajectory.sequences.map((sequence) => {
    const adapter = adapterOf(sequence.seat);
    const tokens = sequence.segments.flatMap((segment) => segment.tokens);
    const own = sequence.segments.flatMap((segment) => segment.tokens.map(() => segment.source === "policy"));
    const mask = own.map((policy, t) => (t > 0 && policy ? 1 : 0));
    const weights = own.map((policy, t) => (t === 0 ? 0 : policy ? 1 : observationWeight));
    return {
      tokens,
      mask,
      weights,
      oldLogprobs: mask.map(() => 0),
      advantages: mask.map(() => 1),
      temperature: 1,
      ...(adapter === undefined ? {} : { adapter }),
    };
  });
}

/** Blocks drawn together: enough that the rows left over when the last one fills are few. */
const blocksPerDraw = 16;

export interface SftBatchOptions {
  readonly slots: number;
  readonly observationWeight: number;
  readonly contextTokens: number;
  readonly adapterOf?: AdapterOf;
  /** Seats whose sequences are learnt from; default all. */
  readonly learns?: (seat: string) => boolean;
}

/**
 * Batches of demonstrations. Rows are pooled by length (and adapter: a step is of one) and a pool that is full becomes a step's batch, so
 * each step computes one block with little padding. A pure function of (seed, step) as long as `demonstrate`
 * is one of its index: blocks are drawn sixteen at a time from a keyed range of indices, and what is left over is dropped.
 */
export function sftBatches(
  demonstrate: (index: number) => Promise<Trajectory | undefined>,
  o: SftBatchOptions,
): (step: number) => Promise<WeightedRow[]> {
  let held: { draw: number; blocks: Promise<WeightedRow[][]> } | undefined;
  return async (step) => {
    const draw = Math.floor(step / blocksPerDraw);
    if (held?.draw !== draw) held = { draw, blocks: drawBlocks(demonstrate, draw, o) };
    return (await held.blocks)[step % blocksPerDraw]!;
  };
}

async function drawBlocks(
  demonstrate: (index: number) => Promise<Trajectory | undefined>,
  draw: number,
  o: SftBatchOptions,
): Promise<WeightedRow[][]> {
  const pools = new Map<string, WeightedRow[]>();
  const blocks: WeightedRow[][] = [];
  const atOnce = 32;
  for (let index = 0; index < indicesPerDraw; index += atOnce) {
    const drawn = await Promise.all(
      Array.from({ length: atOnce }, (_, i) => demonstrate(draw * indicesPerDraw + index + i)),
    );
    for (const row of drawn.flatMap((t) => (t ? rowsOfShown(t, o) : []))) {
      if (row.tokens.length > o.contextTokens || row.mask.every((m) => m === 0)) continue;
      const T = ladder(row.tokens.length - 1);
      const key = `${T} ${row.adapter ?? ""}`;
      const pool = pools.get(key) ?? [];
      pools.set(key, pool);
      pool.push(row);
      if (pool.length < rowsOf(T, o.slots)) continue;
      blocks.push(pool);
      pools.delete(key);
      if (blocks.length === blocksPerDraw) return blocks;
    }
  }
  throw new DataError({
    what: "the demonstrations do not fill a batch",
    got: `${blocks.length} of ${blocksPerDraw} blocks after ${indicesPerDraw} demonstrations`,
    expected: `trajectories of at most ${o.contextTokens} tokens with something the policy wrote`,
    next: "Check sft.source, lower sft.slots, or raise model.contextTokens.",
  });
}

function rowsOfShown(
  shown: Trajectory,
  { learns, observationWeight, adapterOf }: SftBatchOptions,
): WeightedRow[] {
  const sequences = learns ? shown.sequences.filter(({ seat }) => learns(seat)) : shown.sequences;
  return sftRows({ ...shown, sequences }, observationWeight, adapterOf);
}

/** Indices a draw may use; the next draw begins after them. */
export const indicesPerDraw = 65_536;

/** One supervised update: minimises −Σ w·log π / Σ w over the batch. Resolves with the loss in nats a token. */
export async function sftStep(
  learner: Learner,
  rows: readonly WeightedRow[],
  learningRate: number,
): Promise<UpdateReport & { loss: number; tokens: number }> {
  const total = rows.reduce((sum, row) => sum + row.weights.reduce((a, b) => a + b, 0), 0);
  const scaled = rows.map((row) => ({ ...row, weights: row.weights.map((w) => w / total) }));
  const report = await learner.update(scaled, { temperature: 1, learningRate });
  return { ...report, loss: report.policyLoss, tokens: rows.reduce((n, row) => n + row.tokens.length, 0) };
}
