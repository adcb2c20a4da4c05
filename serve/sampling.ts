import { badRequest, pythonFloat } from "./api-error.ts";
import type { Api } from "./api-options.ts";
import { invalidField } from "./body.ts";
import { firstUnsupported, type SamplingRequest } from "./sampling-request.ts";
import type { ServedRequest } from "./served-model.ts";

/** vLLM's own limits (VLLM_MAX_N_SEQUENCES, VLLM_MAX_STOP_STRINGS). */
const most = { n: 16384, stopStrings: 4 } as const;
const [greedyBelow, leastTemperature] = [1e-5, 1e-2];

/** What can be said of a request before its prompt is looked at. @throws ApiError */
export function checkFields(request: SamplingRequest): void {
  const { stop, stream, stream_options, prompt_logprobs, seed } = request;
  if (stop.length > most.stopStrings)
    throw invalidField(
      "stop",
      `List should have at most ${most.stopStrings} items after validation, not ${stop.length}`,
    );
  if (stream_options && !stream)
    throw invalidField("stream_options", "Stream options can only be defined when `stream=True`.");
  if (seed !== undefined && seed !== null && Math.abs(seed) > 2 ** 63)
    throw invalidField("seed", "Input should fit into 64 bits");
  if (prompt_logprobs === undefined || prompt_logprobs === null) return;
  if (stream && prompt_logprobs !== 0)
    throw invalidField("prompt_logprobs", "`prompt_logprobs` are not available when `stream=True`.");
  if (prompt_logprobs < -1)
    throw invalidField("prompt_logprobs", "`prompt_logprobs` must be a positive value or -1.");
}

/** @throws ApiError for what vLLM can and this server cannot */
export function checkSupported(raw: Readonly<Record<string, unknown>>): void {
  const name = firstUnsupported(raw);
  if (name === undefined) return;
  throw badRequest(`${name} is not supported by this server. Leave it out, or give the value that is off.`, {
    name,
    value: JSON.stringify(raw[name]),
  });
}

export interface SamplingLimits {
  /** As asked for, undefined: as many as the context has room for. */
  readonly maxTokens: number | undefined;
  readonly promptTokens: number;
  /** Likeliest tokens a position, undefined: no logprobs are asked for. */
  readonly logprobs: number | undefined;
}

/** The sampling parameters of one prompt's completions, in vLLM's order of checks. @throws ApiError */
export function samplingOf(
  api: Api,
  request: SamplingRequest,
  { maxTokens, promptTokens, logprobs }: SamplingLimits,
): Omit<ServedRequest["params"], "seed"> {
  const room = api.model.contextTokens - promptTokens;
  const limit = Math.min(maxTokens ?? room, room);
  const { n, temperature, top_p, top_k, min_tokens, stop } = request;
  const fail = (message: string, name?: string, value: string | number = "") => {
    throw badRequest(message, name === undefined ? undefined : { name, value });
  };
  if (n < 1) fail(`n must be at least 1, got ${n}.`);
  if (n > most.n) fail(`n must be at most ${most.n}, got ${n}.`);
  if (temperature < 0) {
    const got = pythonFloat(temperature);
    fail(`temperature must be non-negative, got ${got}.`, "temperature", got);
  }
  if (!(top_p > 0 && top_p <= 1)) {
    const got = pythonFloat(top_p);
    fail(`top_p must be in (0, 1], got ${got}.`, "top_p", got);
  }
  if (top_k < -1) fail(`top_k must be 0 (disable), or at least 1, got ${top_k}.`);
  if (limit < 1) fail(`max_tokens must be at least 1, got ${limit}.`, "max_tokens", limit);
  if (min_tokens < 0) fail(`min_tokens must be greater than or equal to 0, got ${min_tokens}.`);
  if (min_tokens > limit)
    fail(`min_tokens must be less than or equal to max_tokens=${limit}, got ${min_tokens}.`);
  if (stop.includes("")) fail("stop cannot contain an empty string.");
  const greedy = temperature < greedyBelow;
  if (greedy && n > 1) fail(`n must be 1 when using greedy sampling, got ${n}.`);
  return {
    temperature: greedy ? 0 : Math.max(temperature, leastTemperature),
    topP: greedy ? 1 : top_p,
    topK: greedy ? 0 : Math.max(top_k, 0),
    maxTokens: limit,
    stop,
    topLogprobs: logprobs ?? 0,
    stopTokenIds: [...new Set(request.stop_token_ids)],
    ignoreEos: request.ignore_eos,
    minTokens: min_tokens,
  };
}

/** Number of likeliest tokens; -1 is the whole vocabulary. @throws ApiError when more than the server gives */
export function logprobCount(
  api: Api,
  kind: "sample" | "prompt",
  asked: number | null | undefined,
): number | undefined {
  if (asked === undefined || asked === null) return undefined;
  const count = asked === -1 ? api.model.tokenizer.vocabSize : asked;
  if (count <= api.maxLogprobs) return count;
  throw badRequest(
    `Requested ${kind} logprobs of ${count}, which is greater than max allowed: ${api.maxLogprobs}`,
    { name: kind === "sample" ? "logprobs" : "prompt_logprobs", value: count },
  );
}

/** Seeds of a request's samples, [n]: one apart, as vLLM's are; 32 bits of each are used. */
export function seedsOf(api: Api, { seed, n }: SamplingRequest): number[] {
  const first = seed === undefined || seed === null || seed === -1 ? undefined : seed;
  return Array.from({ length: n }, (_, i) => (first === undefined ? api.newSeed() : wrap(first + i)));
}

const wrap = (seed: number) => ((seed % 2 ** 32) + 2 ** 32) % 2 ** 32;
