import type { TokenKind } from "./token-kinds.ts";

/** One sequence ready for the loss. All arrays are [T]; index t describes token t itself (not the next). */
export interface Row {
  readonly tokens: readonly number[];
  /** 1 on sampled tokens that count in the loss, else 0. tokens[0] is never trained on. */
  readonly mask: readonly number[];
  /** log π_old of each token at the sampling temperature; 0 where mask is 0. */
  readonly oldLogprobs: readonly number[];
  /** Advantage of each token; 0 where mask is 0. */
  readonly advantages: readonly number[];
  readonly temperature: number;
  /** The policy version that sampled it; absent without a policy token. */
  readonly version?: number;
  /** log π of each token as the sampler reported it, where `oldLogprobs` was recomputed by the trainer; 0 where mask is 0. */
  readonly sampler?: readonly number[];
  /** Ratios π_old/π_sampler and the weights they became, which are in the advantages already. */
  readonly importance?: { readonly ratios: readonly number[]; readonly weights: readonly number[] };
  /** Weights that played it, where the policy has several adapters. */
  readonly adapter?: string;
  /** What each token's weight in the loss is multiplied by, where calls are equalised; absent is 1. */
  readonly scale?: readonly number[];
  /** What each token belongs to, for entropy by kind. */
  readonly kinds?: readonly TokenKind[];
}
