import { unknownModel } from "./api-error.ts";
import type { Api } from "./api-options.ts";
import type { ChoiceRequest } from "./choice.ts";
import { type CompletionRequest, checkVocabulary, type Prompt, promptsOf } from "./completion-request.ts";
import type { ScoredToken } from "./logprobs.ts";
import { logprobCount, samplingOf, seedsOf } from "./sampling.ts";
import type { SamplingRequest } from "./sampling-request.ts";
import type { ServedPromptToken } from "./served-model.ts";

/** One prompt of a request with what is to be made of it. */
export interface CompletionJob {
  readonly prompt: Prompt;
  /** One a sample, [n]. */
  readonly choices: readonly ChoiceRequest[];
  /** Likeliest tokens a position of the prompt, undefined: the prompt is not scored. */
  readonly promptTop: number | undefined;
}

/** A request, checked. */
export interface CompletionPlan {
  readonly request: CompletionRequest;
  readonly id: string;
  readonly model: string;
  readonly jobs: readonly CompletionJob[];
  /** Likeliest tokens a position, undefined: no logprobs. */
  readonly top: number | undefined;
}

/** The model that a request names, by default the base. @throws ApiError, 404 */
export function servedName(api: Api, model: SamplingRequest["model"]): string {
  const cards = api.model.cards();
  if (model === "" || cards.some(({ id }) => id === model)) return model || api.model.name;
  const aliases = cards.filter(({ parent }) => parent === null).map(({ id }) => id);
  throw unknownModel(model, aliases);
}

/** @throws ApiError for what vLLM refuses too, in its order */
export function completionPlan(
  api: Api,
  request: CompletionRequest,
  { id, model }: { id: string; model: string },
): CompletionPlan {
  const { tokenizer, contextTokens } = api.model;
  const { echo, max_tokens, logprobs } = request;
  const prompts = promptsOf(request, tokenizer, contextTokens);
  const jobs = prompts.map((prompt): CompletionJob => {
    const params = samplingOf(api, request, {
      // With echo alone there is still one token: the prompt is what is asked for.
      maxTokens: echo && max_tokens === 0 ? 1 : max_tokens,
      promptTokens: prompt.tokens.length,
      logprobs: logprobCount(api, "sample", logprobs),
    });
    checkVocabulary(prompt.tokens, tokenizer.vocabSize);
    const promptTop = logprobCount(api, "prompt", request.prompt_logprobs ?? (echo ? logprobs : undefined));
    const common = {
      model,
      prompt: prompt.tokens,
      includeStop: request.include_stop_str_in_output,
      skipSpecial: request.skip_special_tokens,
    };
    const seeds = seedsOf(api, request);
    return {
      prompt,
      promptTop,
      choices: seeds.map((seed) => ({ ...common, params: { ...params, seed } })),
    };
  });
  return { request, id, model, jobs, top: logprobCount(api, "sample", logprobs) };
}

/** Teacher-forced logprobs of the prompt; undefined when nobody asked. */
export async function scorePrompt(
  api: Api,
  model: string,
  { prompt, promptTop }: CompletionJob,
  signal: AbortSignal,
): Promise<readonly ServedPromptToken[] | undefined> {
  if (promptTop === undefined) return undefined;
  return prompt.tokens.length > 1 ? api.model.score(model, prompt.tokens, promptTop, signal) : [];
}

/** What echo puts before the completion: the prompt's text (none beside token ids) and its tokens. */
export function echoOf(
  api: Api,
  request: CompletionRequest,
  prompt: Prompt,
  scored: readonly ServedPromptToken[] | undefined,
): { text: string; tokens: ScoredToken[] } {
  const text = prompt.text ?? api.model.tokenizer.decode(prompt.tokens);
  const first = { id: prompt.tokens[0] as number, logprob: null, top: [] };
  return { text: request.return_token_ids ? "" : text, tokens: scored ? [first, ...scored] : [] };
}
