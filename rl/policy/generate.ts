import { DataError, InvariantError } from "../../core/errors.ts";
import type { Params } from "../../engine/array.ts";
import type { Engine } from "../../engine/engine.ts";
import type { BatchSampler, Completion, SampleRequest } from "../../rollout/sampler.ts";
import type { Tokenizer } from "../../rollout/tokenizer.ts";
import { mostRows } from "./buckets.ts";
import { type ForwardCall, forwardCall } from "./forward-call.ts";
import { generateBatch } from "./generate-batch.ts";
import { KvArena } from "./kv-arena.ts";
import { KvStore } from "./kv-store.ts";
import type { Policy } from "./policy.ts";

export interface SamplerOptions {
  readonly engine: Engine;
  readonly policy: Policy;
  readonly tokenizer: Tokenizer;
  /** Most sequences decoded at once; a larger batch is done in parts. */
  readonly maxRows?: number;
  /** Most tokens of a sequence; not above what the model was made for (the default). */
  readonly contextTokens?: number;
  /** Memory for the keys and values of sequences between their turns, bytes. */
  readonly keepBytes?: number;
  /** What samplers of one shape have in common when no two of them ever compute at the same time. */
  readonly shared?: SharedParts;
}

export interface SharedParts {
  readonly forward: ForwardCall;
  readonly arena: KvArena;
}

export const sharedParts = (engine: Engine, { config, lora }: Policy): SharedParts => ({
  forward: forwardCall(engine, config, lora),
  arena: new KvArena(config),
});

/** The in-process sampler: tokens straight from the policy's own weights. */
export interface PolicySampler extends BatchSampler {
  /** Samples from a new version from the next batch on; everything cached is dropped. */
  update(policy: Policy): void;
  /** Frees the caches; compiled programs belong to the engine. */
  dispose(): void;
}

/**
 * Batched sampling with a key-value cache. A request whose prompt extends what its sequence holds pays only for
 * the new tokens; requests with equal prompts share one prefill, and each forward pass until their texts part.
 * The same batch in the same order gives the same bits; a request's result depends on its neighbours by
 * rounding alone. Batches run one after another.
 */
export function createSampler(options: SamplerOptions): PolicySampler {
  const { engine, tokenizer, maxRows = 128, keepBytes = 4 * 2 ** 30 } = options;
  if (!(maxRows >= 1 && maxRows <= mostRows))
    throw new InvariantError({
      what: "maxRows of a sampler",
      got: `${maxRows}`,
      expected: `1 to ${mostRows}`,
    });
  const { config } = options.policy;
  const contextTokens = Math.min(options.contextTokens ?? config.contextTokens, config.contextTokens);
  const { forward, arena } = options.shared ?? sharedParts(engine, options.policy);
  const store = new KvStore(keepBytes);
  let current = modelOf(options.policy);
  let cachedUnder = current;
  let queue: Promise<unknown> = Promise.resolve();

  const run = async (requests: readonly SampleRequest[], signal: AbortSignal | undefined) => {
    const model = current; // An update meanwhile must not mix into this batch.
    if (model !== cachedUnder) store.clear();
    cachedUnder = model;
    for (const request of requests) checkPrompt(request, contextTokens);
    const completions = new Array<Completion>(requests.length);
    for (const part of parts(requests, maxRows)) {
      const indexed = part.map((index) => ({ index, request: requests[index] as SampleRequest }));
      const context = { ...model, forward, store, arena, tokenizer, contextTokens, config, signal };
      for (const { index, completion } of await generateBatch(indexed, context))
        completions[index] = completion;
    }
    return completions;
  };

  return {
    contextTokens,
    sampleBatch(requests, signal) {
      const result = queue.then(() => run(requests, signal));
      queue = result.catch(() => undefined);
      return result;
    },
    release: (sequence) => store.delete(sequence),
    update(policy) {
      if (policy.config !== config && JSON.stringify(policy.config) !== JSON.stringify(config))
        throw new InvariantError({ what: "a sampler was updated with a policy of another shape" });
      current = modelOf(policy);
    },
    dispose() {
      store.clear();
      store.trim();
      arena.clear();
    },
  };
}

interface Model {
  readonly weights: Params;
  readonly version: number;
}

function modelOf({ frozen, trainable, version }: Policy): Model {
  return { weights: { ...frozen, ...trainable }, version };
}

/** Indices of at most `size` requests each, the longest prompts first, so that rows of a part are of like length. */
function* parts(requests: readonly SampleRequest[], size: number): Generator<number[]> {
  const length = (index: number) => (requests[index] as SampleRequest).prompt.length;
  const order = requests.map((_, index) => index).sort((a, b) => length(b) - length(a) || a - b);
  for (let from = 0; from < order.length; from += size) yield order.slice(from, from + size);
}

function checkPrompt({ sequence, prompt }: SampleRequest, contextTokens: number): void {
  if (prompt.length === 0)
    throw new InvariantError({ where: sequence, what: "a sequence needs at least one prompt token" });
  if (prompt.length > contextTokens)
    throw new DataError({
      where: sequence,
      what: "the prompt is longer than the model's context",
      got: `${prompt.length} tokens`,
      expected: `at most ${contextTokens}`,
      next: "Raise `model.contextTokens` where the model allows it, or cut observations, turns or the question.",
    });
}
