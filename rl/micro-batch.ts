import { InvariantError } from "../core/errors.ts";
import type { Arr } from "../engine/array.ts";
import type { Row } from "./row.ts";

/** A row with the weight that each token's loss has in its optimiser step; 0 where it does not count. */
export interface WeightedRow extends Row {
  readonly weights: readonly number[]; // [T]
  /** log π_ref of each token, for the KL term. */
  readonly reference?: readonly number[]; // [T]
}

/** A padded block of rows. Position t of every array describes the prediction of token t+1. All arrays are [B, T]. */
export type MicroBatch = {
  readonly ids: Arr;
  readonly targets: Arr;
  readonly mask: Arr;
  readonly weights: Arr;
  readonly old: Arr;
  readonly advantages: Arr;
  readonly reference: Arr;
};

/** Rows of one block, by their index in the list that was given. */
export interface Plan {
  readonly B: number;
  readonly T: number;
  readonly rows: readonly number[];
}

/**
 * Deals rows into blocks of about `slots` tokens, longest first, ties by index. Lengths are rounded up to a
 * ladder and row counts to B, B/2, B/4, so that few shapes, hence few compiled graphs, occur; a block takes
 * shorter rows until they would fill less than `minFill` of their line.
 */
export function planBatches(lengths: readonly number[], slots: number, minFill = 0.6): Plan[] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const plans: Plan[] = [];
  for (let from = 0; from < order.length; ) {
    const T = ladder(lengths[order[from]!]! - 1);
    const full = rowsOf(T, slots);
    let to = from + 1;
    while (to < order.length && to - from < full && lengths[order[to]!]! - 1 >= minFill * T) to++;
    const rows = order.slice(from, to);
    let B = full;
    for (let halvings = 0; halvings < 2 && B % 2 === 0 && B / 2 >= rows.length; halvings++) B /= 2;
    plans.push({ B, T, rows });
    from = to;
  }
  return plans;
}

/** Rows of length T that fit in `slots`, a multiple of eight from eight on, at least 1. */
export function rowsOf(T: number, slots: number): number {
  const n = Math.max(1, Math.floor(slots / T));
  return n < 8 ? n : n - (n % 8);
}

/** The next length in 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512 … */
export function ladder(length: number): number {
  const first = [32, 48, 64, 96, 128, 160, 192].find((T) => length <= T);
  if (first !== undefined) return first;
  let octave = 256;
  while (length > octave * 2 - octave / 4) octave *= 2;
  return [octave, 1.25 * octave, 1.5 * octave, 2 * octave].find((T) => length <= T)!;
}

/** Fills one block. Missing rows and positions past a row's end are zero and weigh nothing. */
export function fillBatch(plan: Plan, rows: readonly WeightedRow[], padId: number): MicroBatch {
  const { B, T } = plan;
  const int = () => new Int32Array(B * T);
  const float = () => new Float32Array(B * T);
  const ids = int().fill(padId);
  const targets = int();
  const [mask, weights, old, advantages, reference] = [float(), float(), float(), float(), float()];
  plan.rows.forEach((index, b) => {
    const row = rows[index];
    if (!row || row.tokens.length > T + 1)
      throw new InvariantError({
        what: "a row does not fit its block",
        got: `${row?.tokens.length} tokens for T ${T}`,
      });
    for (let t = 0; t < row.tokens.length; t++) {
      const at = b * T + t;
      if (t < T) ids[at] = row.tokens[t]!;
      if (t === 0) continue;
      targets[at - 1] = row.tokens[t]!;
      mask[at - 1] = row.mask[t]!;
      weights[at - 1] = row.weights[t]!;
      old[at - 1] = row.oldLogprobs[t]!;
      advantages[at - 1] = row.advantages[t]!;
      reference[at - 1] = row.reference?.[t] ?? 0;
    }
  });
  const arr = (data: Float32Array | Int32Array): Arr => ({
    shape: [B, T],
    dtype: data instanceof Int32Array ? "int32" : "float32",
    data,
  });
  return {
    ids: arr(ids),
    targets: arr(targets),
    mask: arr(mask),
    weights: arr(weights),
    old: arr(old),
    advantages: arr(advantages),
    reference: arr(reference),
  };
}

/** Takes what a block computed per position, [B, T], back to each row's tokens, [T]; index 0 is 0. */
export function unfill(
  plan: Plan,
  values: Float32Array | Int32Array | Uint8Array,
  lengths: readonly number[],
  put: (row: number, values: number[]) => void,
): void {
  plan.rows.forEach((index, b) => {
    const length = lengths[index]!;
    const out = new Array<number>(length).fill(0);
    for (let t = 1; t < length; t++) out[t] = values[b * plan.T + t - 1]!;
    put(index, out);
  });
}

/** The positions of a block at which logits are needed, and the way back. */
export type Picked = {
  /** [N] int32: flat positions b·T + t, ascending. The tail beyond the wanted ones repeats position 0 and is never read. */
  readonly positions: Arr;
  /** [N] int32: their target tokens. */
  readonly targets: Arr;
  /** [B, T] int32: where a position stands among the picked; N for one that is not picked. */
  readonly places: Arr;
};

/** Picks what counts or weighs something. N is B·T, or an eighth, a quarter or half of it, so that few shapes occur. */
export function pickPositions({ targets, mask, weights }: MicroBatch): Picked {
  const size = mask.data.length;
  const wanted: number[] = [];
  for (let at = 0; at < size; at++) if (mask.data[at] !== 0 || weights.data[at] !== 0) wanted.push(at);
  const N = [8, 4, 2].map((share) => Math.ceil(size / share)).find((n) => n >= wanted.length) ?? size;
  const places = new Int32Array(size).fill(N);
  wanted.forEach((at, place) => {
    places[at] = place;
  });
  const positions = new Int32Array(N);
  positions.set(wanted);
  const picked = positions.map((at) => targets.data[at]!);
  return {
    positions: { shape: [N], dtype: "int32", data: positions },
    targets: { shape: [N], dtype: "int32", data: picked },
    places: { shape: mask.shape, dtype: "int32", data: places },
  };
}
