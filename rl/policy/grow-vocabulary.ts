import { rng } from "../../core/rng.ts";
import type { Arr, Params } from "../../engine/array.ts";
import type { Policy } from "./policy.ts";

/** The weights whose rows are tokens. */
const tables = ["model.embed_tokens.weight", "lm_head.weight"];

export interface Grown {
  /** Every token by what it is, in the order of ids, before and after; those of before are all among those of after. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly eosIds: readonly number[];
  readonly padId: number;
  /** Draws the rows of new tokens. */
  readonly seed: number;
}

/**
 * The policy for a larger vocabulary: a token that was there keeps its row, wherever its id has moved to; a new one gets
 * the mean row and a little noise (so it begins as no token in particular, as new tokens of a real model are begun).
 */
export function growVocabulary(policy: Policy, o: Grown): Policy {
  const before = new Map(o.from.map((piece, id) => [piece, id]));
  const grow = (params: Params): Params =>
    Object.fromEntries(
      Object.entries(params).map(([name, arr]) => [name, tables.includes(name) ? table(arr, name) : arr]),
    );
  const table = ({ shape, data, dtype }: Arr, name: string): Arr => {
    const width = shape[1]!;
    const mean = new Float32Array(width);
    o.from.forEach((_, id) => {
      for (let i = 0; i < width; i++) mean[i]! += data[id * width + i]! / o.from.length;
    });
    const grown = new Float32Array(o.to.length * width);
    o.to.forEach((piece, id) => {
      const old = before.get(piece);
      const draw = rng(o.seed, "new token", name, piece);
      for (let i = 0; i < width; i++)
        grown[id * width + i] =
          old === undefined ? mean[i]! + noise * (2 * draw() - 1) : data[old * width + i]!;
    });
    return { shape: [o.to.length, width], dtype, data: grown };
  };
  const { config, frozen, trainable } = policy;
  return {
    ...policy,
    config: { ...config, vocabSize: o.to.length, eosIds: o.eosIds, padId: o.padId },
    frozen: grow(frozen),
    trainable: grow(trainable),
  };
}

/** Half the width of the noise, about the spread of a trained row's numbers. */
const noise = 0.1;
