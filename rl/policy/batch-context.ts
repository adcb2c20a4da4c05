import type { Params } from "../../engine/array.ts";
import type { Tokenizer } from "../../rollout/tokenizer.ts";
import type { ForwardCall } from "./forward-call.ts";
import type { KvArena } from "./kv-arena.ts";
import type { KvStore } from "./kv-store.ts";
import type { ModelConfig } from "./model-config.ts";

/** What one batch of sampling works with: one policy version, its caches, the compiled forward call. */
export interface BatchContext {
  readonly forward: ForwardCall;
  readonly weights: Params;
  readonly version: number;
  readonly store: KvStore;
  readonly arena: KvArena;
  readonly tokenizer: Tokenizer;
  readonly contextTokens: number;
  readonly config: ModelConfig;
  readonly signal: AbortSignal | undefined;
}
