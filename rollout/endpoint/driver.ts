import type { Finish } from "../../env/environment.ts";
import type { SamplingParams } from "../sampler.ts";
import type { Connection } from "./connection.ts";

export type DriverName = "vllm" | "sglang" | "llamacpp";

/** What a server can do. A driver's row says what its make can; probes at the start say what this one does. */
export interface Capabilities {
  /** Takes a prompt as ids and gives the sampled ids back. Without it: evaluation and SFT only. */
  readonly tokenIds: boolean;
  /** Gives the log-probability of each sampled token, after temperature. Without it: evaluation and SFT only. */
  readonly logprobs: boolean;
  /** Scores a given sequence (teacher-forced log-probabilities at temperature 1). */
  readonly promptLogprobs: boolean;
  /** Loads and unloads adapters while it serves. */
  readonly adapters: boolean;
  /** Its reply names the model or adapter that made it. */
  readonly namesModel: boolean;
}

export interface GenerateRequest {
  /** Name of the model or adapter. */
  readonly model: string;
  /** [T] */
  readonly prompt: readonly number[];
  readonly params: SamplingParams;
}

/** One completion as a server gave it: parsed, its lengths checked, nothing believed yet. */
export interface Generation {
  /** Sampled ids, [N], the end-of-text id included when it was sampled. */
  readonly tokens: readonly number[];
  /** [N]; zeros where the make gives none (`capabilities.logprobs`). */
  readonly logprobs: readonly number[];
  /** "length" also where the server clipped max_tokens to its context: the caller compares counts. */
  readonly finish: Exclude<Finish, "context">;
  /** Who answered, where the make says so. */
  readonly model?: string;
}

export interface ModelCard {
  readonly id: string;
  /** Adapters: the base model's name. */
  readonly parent?: string;
  /** Adapters: the folder. */
  readonly root?: string;
  /** Tokens; base models only. */
  readonly contextTokens?: number;
}

/** What a server says of how busy it is. */
export interface ServerLoad {
  readonly running: number;
  readonly waiting: number;
  /** Share of the key-value cache in use, 0 to 1. */
  readonly kvCacheUsage: number;
  /** Since the server began. */
  readonly preemptions: number;
}

/**
 * How to speak with servers of one make. Every call throws EndpointError (rollout/endpoint/error.ts) when it fails;
 * none retries, none waits longer than its signal.
 */
export interface Driver {
  readonly name: DriverName;
  readonly capabilities: Capabilities;
  generate(at: Connection, request: GenerateRequest, signal: AbortSignal): Promise<Generation>;
  /** Log-probability of tokens[t] given those before it, at temperature 1, for t = 1 … T − 1: [T − 1]. */
  score(at: Connection, model: string, tokens: readonly number[], signal: AbortSignal): Promise<number[]>;
  models(at: Connection, signal: AbortSignal): Promise<ModelCard[]>;
  loadAdapter(at: Connection, adapter: { name: string; path: string }, signal: AbortSignal): Promise<void>;
  /** A name that is not loaded is no failure. */
  unloadAdapter(at: Connection, name: string, signal: AbortSignal): Promise<void>;
  /** undefined where the server does not say. */
  load(at: Connection, signal: AbortSignal): Promise<ServerLoad | undefined>;
}
