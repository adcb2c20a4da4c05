import type { Tensor } from "@tensorflow/tfjs-core";
import { SamplerError } from "../../core/errors.ts";
import type { Arr, Params } from "../../engine/array.ts";
import type { Engine } from "../../engine/engine.ts";
import { bucketUp, lengthBuckets, slotBucket } from "./buckets.ts";
import { extend, logitsOf, type Weights } from "./forward.ts";
import { type Inputs, inputsOf } from "./forward-call.ts";
import { type CacheArrays, KvArena } from "./kv-arena.ts";
import type { LoraConfig } from "./lora.ts";
import type { ModelConfig } from "./model-config.ts";
import type { LogitsRow } from "./sample-token.ts";
import { likeliest, type TokenLogprob } from "./top-logprobs.ts";

/** A token of a text as the policy sees it there. */
export interface ScoredToken {
  readonly id: number;
  /** At temperature 1. */
  readonly logprob: number;
  /** 1 is the likeliest; tokens that tie share the better rank. */
  readonly rank: number;
  /** Most likely first. */
  readonly top: readonly TokenLogprob[];
}

export type ScorePrompt = (
  weights: Params,
  /** [T], ids of the vocabulary */
  tokens: readonly number[],
  o: { readonly top: number; readonly signal?: AbortSignal | undefined },
) => Promise<ScoredToken[]>;

const longest = lengthBuckets.at(-1) as number;
/** Most logits of one call, numbers: a large vocabulary's never exist for a whole text at once. */
const mostLogits = 2 ** 22;

/**
 * Teacher-forced scores of tokens[1 …], [T − 1], chunk by chunk over a key-value cache, so that memory grows with the
 * text's length and not with its square or the vocabulary. Texts are scored one after another.
 * @throws SamplerError when logits are not numbers
 */
export function promptScorer(engine: Engine, config: ModelConfig, lora: LoraConfig | undefined): ScorePrompt {
  const run = engine.jit(
    "score",
    (weights: Weights, inputs: Inputs<Tensor>, caches: readonly { k: Tensor; v: Tensor }[]) => {
      const { at } = inputs;
      const { hidden, keys, values } = extend(
        config,
        weights,
        { ...inputs, caches: caches.map(({ k, v }) => ({ k, v, at })) },
        { lora },
      );
      return { hidden, keys, values };
    },
  ) as unknown as (weights: Params, inputs: Inputs<Arr>, caches: readonly CacheArrays[]) => Promise<Extended>;
  const head = engine.jit("score head", (weights: Weights, hidden: Tensor) =>
    logitsOf(config, weights, hidden),
  ) as unknown as (weights: Params, hidden: Arr) => Promise<Arr>;
  const rows = Math.max(2, 2 ** Math.floor(Math.log2(Math.min(longest, mostLogits / config.vocabSize))));

  /** Logits after each of `count` positions of hidden states, some at a time. */
  async function* linesOf(weights: Params, { data }: Arr, count: number): AsyncGenerator<LogitsRow> {
    const [width, size] = [config.hiddenSize, config.vocabSize];
    for (let from = 0; from < count; from += rows) {
      const part = new Float32Array(rows * width);
      part.set((data as Float32Array).subarray(from * width, Math.min(count, from + rows) * width));
      const logits = await head(weights, { shape: [rows, width], dtype: "float32", data: part });
      for (let i = 0; i < Math.min(rows, count - from); i++)
        yield { logits: logits.data as Float32Array, offset: i * size, size };
    }
  }

  const score: ScorePrompt = async (weights, tokens, { top, signal }) => {
    const arena = new KvArena(config);
    const last = tokens.length - 1; // Nothing is asked about what follows the last token.
    if (last > longest) arena.reset(1, slotBucket(last));
    const out: ScoredToken[] = [];
    for (let at = 0; at < last; at += longest) {
      const chunk = tokens.slice(at, Math.min(last, at + longest));
      const length = bucketUp(lengthBuckets, chunk.length);
      const caches = at === 0 ? [] : arena.view(0, 1);
      const slots = at === 0 ? 0 : arena.slots;
      const mask = new Float32Array(length * (slots || length));
      const inputs = inputsOf(
        config,
        [{ tokens: chunk, at, temperature: 1 }],
        { rows: 1, length, slots },
        mask,
      );
      signal?.throwIfAborted();
      const { hidden, keys, values } = await run(weights, inputs, caches);
      if (last > longest) arena.write(0, at, chunk.length, { keys, values, source: 0, length });
      for await (const line of linesOf(weights, hidden, chunk.length)) {
        signal?.throwIfAborted();
        out.push(scoreOf(line, tokens[out.length + 1] as number, top));
      }
    }
    return out;
  };

  let queue: Promise<unknown> = Promise.resolve();
  return (weights, tokens, o) => {
    const result = queue.then(() => score(weights, tokens, o));
    queue = result.catch(() => undefined);
    return result;
  };
}

interface Extended {
  readonly hidden: Arr;
  readonly keys: readonly Arr[];
  readonly values: readonly Arr[];
}

/** Sums are in float64. */
function scoreOf(row: LogitsRow, id: number, top: number): ScoredToken {
  const { logits, offset, size } = row;
  const own = logits[offset + id] as number;
  let max = Number.NEGATIVE_INFINITY;
  let rank = 1;
  for (let i = offset; i < offset + size; i++) {
    const x = logits[i] as number;
    if (x > max) max = x;
    if (x > own) rank++;
  }
  let total = 0;
  for (let i = offset; i < offset + size; i++) total += Math.exp((logits[i] as number) - max);
  if (!(total >= 1 && total <= size)) throw new SamplerError({ what: "the policy's logits are not numbers" });
  const logprob = own - max - Math.log(total);
  return { id, logprob, rank, top: likeliest(row, { token: id, logprob }, top) };
}
