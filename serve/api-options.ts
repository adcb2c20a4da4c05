import { seedOf } from "../core/rng.ts";
import type { ServedModel } from "./served-model.ts";
import { specialIdsOf, TokenNames } from "./token-text.ts";

export interface ApiOptions {
  readonly model: ServedModel;
  /** Paths under /v1 and /inference want it as a bearer token. */
  readonly apiKey?: string | undefined;
  /** Adapters may be loaded and unloaded; default true. Without it those paths are not there. */
  readonly allowAdapters?: boolean;
  /** What /version says; default: the vLLM whose API this is, as clients decide by it what they may ask for. */
  readonly version?: string;
  /** Most logprobs a position; default 20. */
  readonly maxLogprobs?: number;
  /** Draws what requests without a seed are sampled with; default 0. */
  readonly seed?: number;
}

/** What an answered request ended with, as vLLM counts them. */
export const finishReasons = ["stop", "length", "abort", "error", "repetition"] as const;
export type FinishReason = (typeof finishReasons)[number];

/** What the routes share. */
export interface Api {
  readonly model: ServedModel;
  readonly maxLogprobs: number;
  readonly names: TokenNames;
  readonly special: ReadonlySet<number>;
  /** Says which server and model made a reply. */
  readonly fingerprint: string;
  readonly finished: Record<FinishReason, number>;
  /** False after the model broke, until it answers again. */
  healthy: boolean;
  /** Seconds since 1970. */
  now(): number;
  /** 16 hex digits, new at each call. */
  newId(): string;
  /** A sampling seed for a request that has none, new at each call. */
  newSeed(): number;
}

export function makeApi({ model, maxLogprobs = 20, seed = 0 }: ApiOptions): Api {
  let ids = 0;
  let seeds = 0;
  const hex = (n: number, half: number) => seedOf(seed, "id", n, half).toString(16).padStart(8, "0");
  return {
    model,
    maxLogprobs,
    names: new TokenNames(model.tokenizer),
    special: specialIdsOf(model.tokenizer),
    fingerprint: `forager-${model.tokenizer.fingerprint.slice(0, 8)}`,
    finished: { stop: 0, length: 0, abort: 0, error: 0, repetition: 0 },
    healthy: true,
    now: () => Math.floor(Date.now() / 1000),
    newId() {
      const n = ids++;
      return hex(n, 0) + hex(n, 1);
    },
    newSeed: () => seedOf(seed, "sample", seeds++),
  };
}
