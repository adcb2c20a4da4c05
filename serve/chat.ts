import type { Hono } from "hono";
import type { Api } from "./api-options.ts";
import { invalidField, readBody } from "./body.ts";
import { type ChatRequest, chatSchema, lastContent, renderMessages } from "./chat-request.ts";
import { streamChat } from "./chat-stream.ts";
import { type Choice, type ChoiceRequest, wholeChoice } from "./choice.ts";
import { type CompletionJob, scorePrompt, servedName } from "./completion-plan.ts";
import { checkLength, checkVocabulary, type Prompt } from "./completion-request.ts";
import { chatLogprobs, promptLogprobs } from "./logprobs.ts";
import { checkFields, checkSupported, logprobCount, samplingOf, seedsOf } from "./sampling.ts";
import { together } from "./together.ts";
import { usageOf } from "./usage.ts";

/** A request, checked. */
export interface ChatPlan extends CompletionJob {
  readonly request: ChatRequest;
  readonly id: string;
  readonly model: string;
  /** What `echo` puts before the answer. */
  readonly echo: string;
}

export function chat(app: Hono, api: Api): void {
  app.post("/v1/chat/completions", async (c) => {
    const { raw, parsed } = await readBody(c, chatSchema);
    checkFields(parsed);
    checkTopLogprobs(parsed);
    const model = servedName(api, parsed.model);
    checkSupported(raw);
    const id = `chatcmpl-${c.req.header("x-request-id") ?? parsed.request_id ?? api.newId()}`;
    const plan = planOf(api, parsed, { id, model });
    if (parsed.stream) return streamChat(c, api, plan);
    return c.json(await chatReply(api, plan, c.req.raw.signal));
  });
}

function checkTopLogprobs({ logprobs, top_logprobs }: ChatRequest): void {
  if (top_logprobs < -1) throw invalidField("top_logprobs", "`top_logprobs` must be a positive value or -1.");
  if (top_logprobs !== 0 && !logprobs)
    throw invalidField("top_logprobs", "when using `top_logprobs`, `logprobs` must be set to true.");
}

function planOf(api: Api, request: ChatRequest, { id, model }: { id: string; model: string }): ChatPlan {
  const { tokenizer, contextTokens } = api.model;
  const prompt: Prompt = renderMessages(api, request);
  checkLength(prompt.tokens, contextTokens);
  const params = samplingOf(api, request, {
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    promptTokens: prompt.tokens.length,
    logprobs: request.logprobs ? logprobCount(api, "sample", request.top_logprobs) : undefined,
  });
  checkVocabulary(prompt.tokens, tokenizer.vocabSize);
  const common: Omit<ChoiceRequest, "params"> = {
    model,
    prompt: prompt.tokens,
    includeStop: request.include_stop_str_in_output,
    skipSpecial: request.skip_special_tokens,
  };
  const continued = request.messages.at(-1)?.role === "assistant";
  return {
    ...{ request, id, model, prompt },
    promptTop: logprobCount(api, "prompt", request.prompt_logprobs),
    choices: seedsOf(api, request).map((seed) => ({ ...common, params: { ...params, seed } })),
    echo: request.echo && continued ? lastContent(request) : "",
  };
}

async function chatReply(api: Api, plan: ChatPlan, signal: AbortSignal) {
  const { request, prompt } = plan;
  const created = api.now();
  const scored = await scorePrompt(api, plan.model, plan, signal);
  const made = await together(
    plan.choices.map((choice) => (abort: AbortSignal) => wholeChoice(api, choice, abort)),
    signal,
  );
  return {
    id: plan.id,
    object: "chat.completion",
    created,
    model: plan.model,
    choices: made.map((choice, index) => ({ index, ...choiceBody(api, plan, choice) })),
    service_tier: null,
    system_fingerprint: api.fingerprint,
    usage: {
      ...usageOf(
        [prompt.tokens.length],
        made.map(({ tokens }) => tokens.length),
      ),
      prompt_tokens_details: null,
      completion_tokens_details: null,
    },
    prompt_logprobs: scored ? promptLogprobs(api, prompt.tokens[0] as number, scored) : null,
    prompt_token_ids: request.return_token_ids ? prompt.tokens : null,
    prompt_text: request.return_prompt_text ? (prompt.text ?? null) : null,
    kv_transfer_params: null,
    ec_transfer_params: null,
    metrics: null,
  };
}

function choiceBody(api: Api, { request, prompt, echo }: ChatPlan, choice: Choice) {
  return {
    message: {
      role: "assistant",
      content: echo + choice.text,
      refusal: null,
      annotations: null,
      audio: null,
      function_call: null,
      reasoning: null,
    },
    logprobs: request.logprobs
      ? chatLogprobs(api, choice.tokens, {
          topCount: request.top_logprobs,
          asIds: request.return_tokens_as_token_ids,
          before: prompt.tokens,
        })
      : null,
    finish_reason: choice.finishReason,
    stop_reason: choice.stopReason,
    token_ids: request.return_token_ids ? choice.tokens.map(({ id }) => id) : null,
    routed_experts: null,
  };
}
