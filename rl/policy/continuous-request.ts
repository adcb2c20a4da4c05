import { DataError } from "../../core/errors.ts";
import { type Rng, rng } from "../../core/rng.ts";
import type { Finish } from "../../env/environment.ts";
import type { SamplingParams } from "../../rollout/sampler.ts";
import { StopText } from "../../rollout/stop-text.ts";
import type { Tokenizer } from "../../rollout/tokenizer.ts";
import type { PolicyVersion } from "./policy-version.ts";
import { type RowSums, sampleBlocks } from "./row-sums.ts";
import { type LogitsRow, sampleToken } from "./sample-token.ts";
import { likeliest, type TokenLogprob } from "./top-logprobs.ts";

export interface ContinuousParams extends SamplingParams {
  /** How many of the likeliest tokens to report beside the sampled one. */
  readonly topLogprobs: number;
  /** Sampled ids that end the text, beside the end-of-text ids. */
  readonly stopTokenIds: readonly number[];
  readonly ignoreEos: boolean;
  /** Before as many tokens no id that ends the text can be drawn, and no stop string ends it. */
  readonly minTokens: number;
}

export interface DrawnToken {
  readonly id: number;
  /** At the sampling temperature (temperature 1 when greedy), over the tokens that `minTokens` allows. */
  readonly logprob: number;
  /** Most likely first. */
  readonly top: readonly TokenLogprob[];
}

export interface ContinuousRequest {
  /** [T], not empty. */
  readonly prompt: readonly number[];
  readonly params: ContinuousParams;
  /** Told of each token as it is drawn. */
  readonly onToken?: ((token: DrawnToken) => void) | undefined;
}

export interface ContinuousCompletion {
  /** Every sampled token, the one that ended the text included. */
  readonly tokens: readonly DrawnToken[];
  readonly finish: Finish;
  /** The stop string or stop token id that ended it. */
  readonly stopReason?: string | number;
}

/** A row of a call's logits, and what the engine has summed of them. */
export interface LogitsLine extends LogitsRow {
  readonly sums?: RowSums | undefined;
}

/** One request from its arrival to its answer. */
export class OpenRequest {
  /** Arrival, counted from 0. */
  readonly order: number;
  readonly version: PolicyVersion;
  readonly request: ContinuousRequest;
  /** Its answer is given, or nobody waits for it any more: it leaves its row before the next step. */
  settled = false;
  readonly #drawn: DrawnToken[] = [];
  /** Prompt and sampled tokens. */
  readonly #text: number[];
  readonly #limit: number;
  readonly #random: Rng;
  readonly #watch: StopText;
  /** Ids that end the text when sampled. */
  readonly #eosIds: readonly number[];
  #stopReason: string | number | undefined;

  constructor(
    order: number,
    asked: { readonly version: PolicyVersion; readonly request: ContinuousRequest },
    { tokenizer, contextTokens }: { readonly tokenizer: Tokenizer; readonly contextTokens: number },
  ) {
    const { prompt, params } = asked.request;
    this.order = order;
    this.version = asked.version;
    this.request = asked.request;
    this.#text = [...prompt];
    this.#limit = Math.min(params.maxTokens, contextTokens - prompt.length);
    // The draw of the in-process sampler: the same request with the same seed gives the same tokens there.
    this.#random = rng(params.seed, "tokens");
    this.#watch = new StopText(tokenizer, params.stop);
    this.#eosIds = params.ignoreEos ? [] : tokenizer.eosIds;
  }

  /** Prompt and what was sampled so far. */
  get text(): readonly number[] {
    return this.#text;
  }

  /** Why nothing more may be sampled, before the first token. */
  get full(): Finish | undefined {
    if (this.#drawn.length < this.#limit) return undefined;
    return this.#drawn.length >= this.request.params.maxTokens ? "length" : "context";
  }

  /** The temperature of its log-probabilities; greedy ones are at 1. */
  get temperature(): number {
    return this.request.params.temperature || 1;
  }

  /** Draws the next token from a row of logits over its temperature; a finish when it was the last. */
  draw(row: LogitsLine): Finish | undefined {
    const { params, onToken } = this.request;
    const young = this.#drawn.length < params.minTokens;
    const { sums: _, ...bare } = row;
    const token = young ? without(row, this.#ends(), () => this.#sample(bare)) : this.#sample(row);
    this.#drawn.push(token);
    this.#text.push(token.id);
    const stop = this.#watch.match(token.id);
    onToken?.(token);
    if (this.#drawn.length >= params.minTokens) {
      if (this.#eosIds.includes(token.id)) return "eos";
      this.#stopReason = params.stopTokenIds.includes(token.id) ? token.id : stop;
      if (this.#stopReason !== undefined) return "stop";
    }
    return this.full;
  }

  completion(finish: Finish): ContinuousCompletion {
    const reason = this.#stopReason;
    return { tokens: this.#drawn, finish, ...(reason === undefined ? {} : { stopReason: reason }) };
  }

  #sample(row: LogitsLine): DrawnToken {
    const { params } = this.request;
    const greedy = params.temperature === 0;
    const uniform = this.#random();
    const whole = greedy || (params.topP === 1 && (params.topK === 0 || params.topK >= row.size));
    const { token, logprob } =
      row.sums && whole
        ? sampleBlocks(row, row.sums, { row: row.offset / row.size, greedy, uniform })
        : sampleToken(row, { ...params, temperature: greedy ? 0 : 1 }, uniform);
    return { id: token, logprob, top: likeliest(row, { token, logprob }, params.topLogprobs) };
  }

  #ends(): readonly number[] {
    return [...this.#eosIds, ...this.request.params.stopTokenIds];
  }
}

/** @throws DataError for a prompt that is empty, longer than the context or holds ids outside the vocabulary */
export function checkPrompt(prompt: readonly number[], vocabSize: number, contextTokens: number): void {
  if (prompt.length === 0) throw new DataError({ what: "a prompt needs at least one token" });
  if (prompt.length > contextTokens)
    throw new DataError({
      what: "the prompt is longer than the model's context",
      got: `${prompt.length} tokens`,
      expected: `at most ${contextTokens}`,
    });
  const odd = prompt.find((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
  if (odd !== undefined)
    throw new DataError({
      what: "a token is outside the vocabulary",
      got: `${odd}`,
      expected: `0 to ${vocabSize - 1}`,
    });
}

/** Does something while some ids cannot be drawn; the row is then as it was, since requests may share it. */
function without<T>({ logits, offset, size }: LogitsRow, ids: readonly number[], act: () => T): T {
  const own = [...new Set(ids)].filter((id) => id >= 0 && id < size);
  const before = own.map((id) => logits[offset + id] as number);
  for (const id of own) logits[offset + id] = Number.NEGATIVE_INFINITY;
  try {
    return act();
  } finally {
    own.forEach((id, i) => {
      logits[offset + id] = before[i] as number;
    });
  }
}
