import type { Finish } from "../env/environment.ts";

export interface SamplingParams {
  /** 0 is greedy. */
  readonly temperature: number;
  /** (0, 1]; 1 is off. */
  readonly topP: number;
  /** 0 is off. */
  readonly topK: number;
  readonly maxTokens: number;
  readonly stop: readonly string[];
  /** 32-bit seed of this request alone; the same request with the same seed gives the same tokens. */
  readonly seed: number;
}

export interface SampleRequest {
  /** Names the sequence; requests with one name extend each other, which lets a sampler keep its KV cache. */
  readonly sequence: string;
  /** Names the group; its sequences share their first prompt, so a fleet keeps them on one server. */
  readonly group?: string | undefined;
  /** Whose turn it is, where an environment has several seats. */
  readonly seat?: string | undefined;
  /** Everything the model has seen so far, [T]. */
  readonly prompt: readonly number[];
  readonly params: SamplingParams;
}

export interface Completion {
  /** Sampled ids, [N]; the end-of-text id is included when it was sampled. */
  readonly tokens: readonly number[];
  /** Log-probability of each sampled token under the policy at the sampling temperature (temperature 1 when greedy), [N]. */
  readonly logprobs: readonly number[];
  /** decode(tokens) without the end-of-text token. */
  readonly text: string;
  readonly finish: Finish;
  /** Policy version that sampled it. */
  readonly version: number;
}

/** Where tokens come from: an HTTP server or the in-process policy. */
export interface Sampler {
  /** Most tokens (prompt + completion) of one sequence. */
  readonly contextTokens: number;
  sample(request: SampleRequest, signal?: AbortSignal): Promise<Completion>;
  /** The sequence is over: drop what is kept for it. */
  release(sequence: string): void;
}

/**
 * A sampler that computes many requests in one go. Its result for a batch depends on the batch's order alone,
 * so `waves` (rollout/waves.ts) can make a run reproducible: a wave leaves when every open episode waits for it.
 */
export interface BatchSampler {
  readonly contextTokens: number;
  /** completions[i] answers requests[i]. */
  sampleBatch(requests: readonly SampleRequest[], signal?: AbortSignal): Promise<Completion[]>;
  release(sequence: string): void;
}
