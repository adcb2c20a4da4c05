import { type Rng, rng } from "../../core/rng.ts";
import type { Finish } from "../../env/environment.ts";
import type { Completion, SampleRequest } from "../../rollout/sampler.ts";
import { StopText } from "../../rollout/stop-text.ts";
import type { Tokenizer } from "../../rollout/tokenizer.ts";
import type { Chunk } from "./forward-call.ts";
import { type LogitsRow, sampleToken } from "./sample-token.ts";

/** One request being answered. */
export class Member {
  readonly index: number;
  readonly request: SampleRequest;
  readonly tokens: number[] = [];
  readonly logprobs: number[] = [];
  readonly #limit: number;
  readonly #random: Rng;
  readonly #watch: StopText;
  readonly #tokenizer: Tokenizer;

  constructor(index: number, request: SampleRequest, context: { tokenizer: Tokenizer; tokens: number }) {
    this.index = index;
    this.request = request;
    this.#tokenizer = context.tokenizer;
    this.#limit = Math.min(request.params.maxTokens, context.tokens - request.prompt.length);
    this.#random = rng(request.params.seed, "tokens");
    this.#watch = new StopText(context.tokenizer, request.params.stop);
  }

  /** Why nothing more may be sampled, before the first token. */
  get full(): Finish | undefined {
    return this.tokens.length < this.#limit ? undefined : this.#outOfRoom();
  }

  /** Draws the next token from a row of logits at its temperature; a finish when it was the last. */
  draw(logits: LogitsRow): Finish | undefined {
    const { params } = this.request;
    const scaled = { ...params, temperature: params.temperature === 0 ? 0 : 1 };
    const { token, logprob } = sampleToken(logits, scaled, this.#random());
    this.tokens.push(token);
    this.logprobs.push(logprob);
    if (this.#tokenizer.eosIds.includes(token)) return "eos";
    if (this.#watch.push(token)) return "stop";
    return this.full;
  }

  completion(finish: Finish, version: number): Completion {
    const { tokens, logprobs } = this;
    const text = this.#tokenizer.decode(finish === "eos" ? tokens.slice(0, -1) : tokens);
    return { tokens, logprobs, text, finish, version };
  }

  #outOfRoom(): Finish {
    return this.tokens.length >= this.request.params.maxTokens ? "length" : "context";
  }
}

/**
 * One sequence of the cache and the members that have written exactly it so far, at one temperature. They share
 * its every forward pass, and part into rows of their own when they draw different tokens.
 */
export interface SamplingRow {
  members: Member[];
  /** Positions whose keys and values are in the cache. */
  cached: number;
  /** Tokens to compute next: what is left of the prompt, then the token just drawn. */
  pending: readonly number[];
}

/** The temperature of a member's log-probabilities; greedy ones are at 1. */
export function temperatureOf({ request }: Member): number {
  return request.params.temperature || 1;
}

/** The first `length` pending tokens as a chunk for the forward call. */
export function chunkOf(row: SamplingRow, length = Number.POSITIVE_INFINITY): Chunk {
  const { pending, cached } = row;
  const tokens = pending.length <= length ? pending : pending.slice(0, length);
  return { tokens, at: cached, temperature: temperatureOf(row.members[0] as Member) };
}
