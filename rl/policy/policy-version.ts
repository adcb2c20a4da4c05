import type { Params } from "../../engine/array.ts";
import type { ForwardCall } from "./forward-call.ts";

/**
 * Weights to sample from under a name. Versions may share arrays (the frozen base), never keys and values: the
 * object is their identity, so a name that comes back with other weights is another version.
 */
export interface PolicyVersion {
  /** For errors. */
  readonly name: string;
  /** Every weight of the forward pass. */
  readonly weights: Params;
  /** Made for the LoRA settings of these weights; the versions of one sampler share it where the settings are equal. */
  readonly forward: ForwardCall;
}
