import type { Hono } from "hono";
import type { Api } from "./api-options.ts";
import { invalidField, readBody } from "./body.ts";
import { type Choice, wholeChoice } from "./choice.ts";
import {
  type CompletionJob,
  type CompletionPlan,
  completionPlan,
  echoOf,
  scorePrompt,
  servedName,
} from "./completion-plan.ts";
import { completionSchema } from "./completion-request.ts";
import { streamCompletion } from "./completion-stream.ts";
import { completionLogprobs, promptLogprobs } from "./logprobs.ts";
import { checkFields, checkSupported } from "./sampling.ts";
import type { ServedPromptToken } from "./served-model.ts";
import { together } from "./together.ts";
import { usageOf } from "./usage.ts";

export function completions(app: Hono, api: Api): void {
  app.post("/v1/completions", async (c) => {
    const { raw, parsed } = await readBody(c, completionSchema);
    checkFields(parsed);
    if (typeof parsed.logprobs === "number" && parsed.logprobs < -1)
      throw invalidField("logprobs", "`logprobs` must be a positive value or -1.");
    const model = servedName(api, parsed.model);
    checkSupported(raw);
    const id = `cmpl-${c.req.header("x-request-id") ?? parsed.request_id ?? api.newId()}`;
    const plan = completionPlan(api, parsed, { id, model });
    if (parsed.stream) return streamCompletion(c, api, plan);
    return c.json(await completionReply(api, plan, c.req.raw.signal));
  });
}

async function completionReply(api: Api, plan: CompletionPlan, signal: AbortSignal) {
  const created = api.now();
  const done = await together(
    plan.jobs.map((job) => async (stop: AbortSignal) => {
      const scored = await scorePrompt(api, plan.model, job, stop);
      const made = await together(
        job.choices.map((choice) => (abort: AbortSignal) => wholeChoice(api, choice, abort)),
        stop,
      );
      return { job, scored, made };
    }),
    signal,
  );
  const choices = done.flatMap(({ job, scored, made }) =>
    made.map((choice) => choiceBody(api, plan, job, scored, choice)),
  );
  return {
    id: plan.id,
    object: "text_completion",
    created,
    model: plan.model,
    choices: choices.map((choice, index) => ({ index, ...choice })),
    service_tier: null,
    system_fingerprint: api.fingerprint,
    usage: {
      ...usageOf(
        plan.jobs.map(({ prompt }) => prompt.tokens.length),
        done.flatMap(({ made }) => made.map(({ tokens }) => tokens.length)),
      ),
      prompt_tokens_details: null,
      completion_tokens_details: null,
    },
    kv_transfer_params: null,
    ec_transfer_params: null,
    metrics: null,
  };
}

function choiceBody(
  api: Api,
  { request, top }: CompletionPlan,
  job: CompletionJob,
  scored: readonly ServedPromptToken[] | undefined,
  choice: Choice,
) {
  const { prompt } = job;
  const echoed = request.echo ? echoOf(api, request, prompt, scored) : undefined;
  const sampled = request.echo && request.max_tokens === 0 ? { text: "", tokens: [] } : choice;
  const first = prompt.tokens[0] as number;
  return {
    text: (echoed?.text ?? "") + sampled.text,
    logprobs:
      top === undefined
        ? null
        : completionLogprobs(api, [...(echoed?.tokens ?? []), ...sampled.tokens], {
            topCount: top,
            asIds: request.return_tokens_as_token_ids,
            before: echoed ? [] : prompt.tokens,
            offset: 0,
          }),
    finish_reason: choice.finishReason,
    stop_reason: choice.stopReason,
    token_ids: request.return_token_ids ? choice.tokens.map(({ id }) => id) : null,
    prompt_logprobs: scored ? promptLogprobs(api, first, scored) : null,
    prompt_token_ids: request.return_token_ids ? prompt.tokens : null,
    routed_experts: null,
  };
}
