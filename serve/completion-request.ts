import { z } from "zod";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import { badRequest } from "./api-error.ts";
import { invalidField } from "./body.ts";
import { bool, int, orElse } from "./lax.ts";
import { samplingFields } from "./sampling-request.ts";

/** The body of /v1/completions. */
export const completionSchema = z.looseObject({
  ...samplingFields,
  prompt: z.unknown().optional(),
  max_tokens: orElse(int, 16),
  logprobs: int.nullish(),
  echo: orElse(bool, false),
  add_special_tokens: orElse(bool, true),
});
export type CompletionRequest = z.infer<typeof completionSchema>;

/** A prompt as ids, with its text when it came as text. */
export interface Prompt {
  /** [T], T ≥ 1 */
  readonly tokens: readonly number[];
  readonly text?: string;
}

/** vLLM's VLLM_MAX_COMPLETION_PROMPTS. */
const mostPrompts = 1024;

type Given = string | readonly number[];

/** By hand: a schema would visit long prompts several times. */
const isIds = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((id) => Number.isInteger(id) && id >= 0);

function given(prompt: unknown): readonly Given[] | undefined {
  if (typeof prompt === "string") return [prompt];
  if (!Array.isArray(prompt) || prompt.length === 0) return Array.isArray(prompt) ? [] : undefined;
  if (isIds(prompt)) return [prompt];
  const list: unknown[] = prompt;
  return list.every((one): one is Given => typeof one === "string" || isIds(one)) ? list : undefined;
}

/** The prompts of a request. @throws ApiError when there is none, one is empty or not text or ids, or too long */
export function promptsOf(
  { prompt, add_special_tokens }: CompletionRequest,
  tokenizer: Tokenizer,
  contextTokens: number,
): Prompt[] {
  if (prompt === undefined || prompt === null || prompt === "")
    throw invalidField("prompt", "Either prompt or prompt_embeds must be provided and non-empty.");
  const prompts = given(prompt);
  if (!prompts)
    throw invalidField(
      "prompt",
      "prompt must be text, a list of texts, a list of token ids, or a list of such",
    );
  if (prompts.length === 0) throw badRequest("You must pass at least one prompt");
  if (prompts.length > mostPrompts)
    throw invalidField(
      "prompt",
      `prompt list length ${prompts.length} exceeds the maximum allowed count of ${mostPrompts}.`,
    );
  const encode = (one: string) =>
    add_special_tokens && tokenizer.encodeWhole ? tokenizer.encodeWhole(one) : tokenizer.encode(one);
  return prompts.map((one) => {
    const made = typeof one === "string" ? { tokens: encode(one), text: one } : { tokens: one };
    checkLength(made.tokens, contextTokens);
    return made;
  });
}

/** @throws ApiError for a prompt that is empty, or that leaves no room at all */
export function checkLength(tokens: readonly number[], contextTokens: number): void {
  if (tokens.length === 0) throw badRequest("The decoder prompt cannot be empty");
  if (tokens.length > contextTokens)
    throw badRequest(
      `This model's maximum context length is ${contextTokens} tokens. However, your prompt contains ${tokens.length} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.`,
      { name: "input_tokens", value: tokens.length },
    );
}

/** @throws ApiError */
export function checkVocabulary(tokens: readonly number[], vocabSize: number): void {
  const wrong = tokens.find((id) => id >= vocabSize);
  if (wrong !== undefined) throw badRequest(`Token id ${wrong} is out of vocabulary`);
}
