import type { Params } from "../engine/array.ts";

/** One published version, kept on the servers until it is released. */
export interface Lease {
  readonly version: number;
  /** Its name on the servers; of several adapters that of the first. */
  readonly model: string;
  /** Names on the servers by adapter, where the policy has several. */
  readonly models?: Readonly<Record<string, string>>;
  /** Its place among the versions published, from 0: staleness counts these. */
  readonly order: number;
  /** The weights that learn, as they were. */
  readonly trainable: Params;
  /** Once; later calls do nothing. */
  release(): void;
}

/** Rollouts that run on servers, beside the trainer. */
export interface Remote {
  /** The newest published version. */
  lease(): Lease;
  /** Its place among the versions published, from 0. */
  readonly newest: number;
  /** Episodes at a time, over all steps under way. */
  readonly concurrency: number;
  /** Slow requests are to be tried elsewhere: half of a step's deadline is over. */
  hurry(): void;
}

/** What one batch of rollouts is played with. */
export interface RollUse {
  /** The version to sample from; absent in process. */
  readonly lease?: Lease;
  /** The run is over, or does not need the batch any more. */
  readonly signal: AbortSignal;
  /** The step's deadline: open episodes end as infra(timeout). */
  readonly cut: AbortSignal;
  /** Gives an episode its slot among those of all steps under way; absent in process. */
  readonly limit?: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
}
