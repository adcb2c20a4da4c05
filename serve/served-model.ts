import type { Finish } from "../env/environment.ts";
import type { SamplingParams } from "../rollout/sampler.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";

/** A token as it is drawn. */
export interface ServedToken {
  readonly id: number;
  /** After temperature (temperature 1 when greedy). */
  readonly logprob: number;
  /** The k likeliest, when asked for, most likely first. */
  readonly top: readonly { readonly id: number; readonly logprob: number }[];
}

export interface ServedRequest {
  /** Name of the base model or of an adapter. */
  readonly model: string;
  /** [T] */
  readonly prompt: readonly number[];
  readonly params: SamplingParams & {
    /** How many of the likeliest tokens to report beside the sampled one. */
    readonly topLogprobs: number;
    readonly stopTokenIds: readonly number[];
    readonly ignoreEos: boolean;
    readonly minTokens: number;
  };
  /** Told of each token as it is drawn, for streaming. */
  readonly onToken?: (token: ServedToken) => void;
}

export interface ServedCompletion {
  /** Every sampled token; an end-of-text or stop token that was sampled is the last. */
  readonly tokens: readonly ServedToken[];
  /** "context": the model's context is full. */
  readonly finish: Finish;
  /** The stop string or the stop token id that ended it. */
  readonly stopReason?: string | number;
}

/** A scored position of a prompt: the token that stands there and the k likeliest. */
export interface ServedPromptToken extends ServedToken {
  /** 1 is the likeliest. */
  readonly rank: number;
}

export interface ServedCard {
  readonly id: string;
  readonly root: string;
  readonly parent: string | null;
  /** Tokens; null for adapters. */
  readonly contextTokens: number | null;
}

/** Why a model refused a request; the API turns each into the status code and body that vLLM gives. */
export class ServedError extends Error {
  readonly kind:
    | "unknownModel"
    | "badRequest"
    | "adapterExists"
    | "adapterMissing"
    | "adapterInvalid"
    | "adapterUnknown"
    | "overloaded"
    | "broken";
  constructor(kind: ServedError["kind"], message: string) {
    super(message);
    this.name = "ServedError";
    this.kind = kind;
  }
}

/** What stands behind the API: our policy (`forager serve`) or a script (`forager stub`). */
export interface ServedModel {
  readonly name: string;
  readonly tokenizer: Tokenizer;
  readonly contextTokens: number;
  /** Chat messages as a prompt; undefined for models without a chat template. */
  readonly chat?: (
    messages: readonly { role: string; content: string }[],
    addGenerationPrompt: boolean,
  ) => string;
  cards(): ServedCard[];
  /** Continuous: a request joins those that are under way. An abort frees its place. @throws ServedError */
  generate(request: ServedRequest, signal: AbortSignal): Promise<ServedCompletion>;
  /** Teacher-forced, at temperature 1 whatever the request's, one entry for tokens[1 …]. */
  score(
    model: string,
    tokens: readonly number[],
    top: number,
    signal: AbortSignal,
  ): Promise<ServedPromptToken[]>;
  loadAdapter(name: string, path: string): Promise<void>;
  unloadAdapter(name: string): Promise<void>;
  /** For /metrics. */
  load(): {
    running: number;
    waiting: number;
    kvCacheUsage: number;
    promptTokens: number;
    generationTokens: number;
    preemptions: number;
    requests: number;
  };
  close(): Promise<void>;
}
