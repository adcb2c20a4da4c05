import { z } from "zod";
import { bool, float, int, orElse, text } from "./lax.ts";

const stop = z
  .union([text.transform((one) => [one]), z.array(text)])
  .nullish()
  .transform((given): string[] => given ?? []);

/** What /v1/completions and /v1/chat/completions have in common, with vLLM's defaults. */
export const samplingFields = {
  model: orElse(text, ""),
  n: orElse(int, 1),
  temperature: orElse(float, 1),
  top_p: orElse(float, 1),
  top_k: orElse(int, 0),
  seed: int.nullish(),
  stop,
  stop_token_ids: orElse(z.array(int), []),
  include_stop_str_in_output: orElse(bool, false),
  ignore_eos: orElse(bool, false),
  min_tokens: orElse(int, 0),
  skip_special_tokens: orElse(bool, true),
  prompt_logprobs: int.nullish(),
  return_token_ids: orElse(bool, false),
  return_tokens_as_token_ids: orElse(bool, false),
  stream: orElse(bool, false),
  stream_options: z
    .looseObject({ include_usage: orElse(bool, false), continuous_usage_stats: orElse(bool, false) })
    .nullish(),
  request_id: text.nullish(),
} as const;

const samplingSchema = z.looseObject(samplingFields);
export type SamplingRequest = z.infer<typeof samplingSchema>;

/** What vLLM can and this server cannot, with the value that changes nothing. Better refused than silently ignored. */
const unsupported: Readonly<Record<string, (value: unknown) => boolean>> = {
  presence_penalty: is(0),
  frequency_penalty: is(0),
  repetition_penalty: is(1),
  min_p: is(0),
  logit_bias: isEmpty,
  bad_words: isEmpty,
  allowed_token_ids: isEmpty,
  logprob_token_ids: isEmpty,
  use_beam_search: is(false),
  best_of: is(1),
  suffix: is(""),
  truncate_prompt_tokens: () => false,
  prompt_embeds: isEmpty,
  response_format: (value) => (value as { type?: unknown }).type === "text",
  structured_outputs: isEmpty,
  thinking_token_budget: is(-1),
  repetition_detection: isEmpty,
  tools: isEmpty,
  tool_choice: (value) => value === "none" || value === "auto",
  functions: isEmpty,
  documents: isEmpty,
  chat_template: () => false,
  chat_template_kwargs: isEmpty,
};

function is(neutral: unknown) {
  return (value: unknown) => value === neutral;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** The first field of a request that asks for what this server cannot do. */
export function firstUnsupported(raw: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(unsupported).find((name) => {
    const value = raw[name];
    return value !== undefined && value !== null && !unsupported[name]?.(value);
  });
}
