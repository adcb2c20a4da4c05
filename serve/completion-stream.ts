import type { Context } from "hono";
import type { Api } from "./api-options.ts";
import { type Piece, streamChoice } from "./choice.ts";
import { type CompletionJob, type CompletionPlan, echoOf, scorePrompt } from "./completion-plan.ts";
import { eventStream, type Send } from "./event-stream.ts";
import { completionLogprobs } from "./logprobs.ts";
import { together } from "./together.ts";
import { codePoints } from "./token-text.ts";
import { usageOf } from "./usage.ts";

/** A completion as server-sent events, a token each; prompt ids come with a choice's first chunk only. */
export function streamCompletion(c: Context, api: Api, plan: CompletionPlan): Response {
  const head = { id: plan.id, object: "text_completion", created: api.now(), model: plan.model };
  const options = plan.request.stream_options;
  return eventStream(c, async (send, signal) => {
    const n = plan.jobs[0]?.choices.length ?? 1;
    const counts = await together(
      plan.jobs.map((job, at) => async (stop: AbortSignal) => {
        const scored = await scorePrompt(api, plan.model, job, stop);
        const echo = plan.request.echo ? echoOf(api, plan.request, job.prompt, scored) : undefined;
        return together(
          job.choices.map((choice, sample) => async (abort: AbortSignal) => {
            const tell = teller(api, plan, job, { index: at * n + sample, head, send, echo });
            return (await streamChoice(api, choice, abort, tell)).tokens.length;
          }),
          stop,
        );
      }),
      signal,
    );
    if (!options?.include_usage) return;
    const prompts = plan.jobs.map(({ prompt }) => prompt.tokens.length);
    send({
      ...head,
      choices: [],
      usage: usageOf(prompts, counts.flat()),
      system_fingerprint: api.fingerprint,
    });
  });
}

/** Writes one choice's pieces as chunks. */
function teller(
  api: Api,
  { request, top }: CompletionPlan,
  { prompt }: CompletionJob,
  o: { index: number; head: object; send: Send; echo: ReturnType<typeof echoOf> | undefined },
): (piece: Piece) => void {
  const { include_usage, continuous_usage_stats } = request.stream_options ?? {};
  const before: number[] = o.echo ? [] : [...prompt.tokens.slice(-4)];
  let told = 0;
  let offset = 0;
  return ({ text, tokens, end }) => {
    const first = told === 0;
    const echo = first ? o.echo : undefined;
    const promptOnly = request.echo && request.max_tokens === 0;
    const shown = [...(echo?.tokens ?? []), ...(promptOnly ? [] : tokens)];
    const delta = (echo?.text ?? "") + (promptOnly ? "" : text);
    const naming = { asIds: request.return_tokens_as_token_ids, before };
    const choice = {
      index: o.index,
      text: delta,
      logprobs:
        top === undefined ? null : completionLogprobs(api, shown, { ...naming, topCount: top, offset }),
      finish_reason: end?.finishReason ?? null,
      stop_reason: end?.stopReason ?? null,
      prompt_token_ids: first && (request.return_token_ids || request.echo) ? prompt.tokens : null,
      token_ids: request.return_token_ids ? tokens.map(({ id }) => id) : null,
    };
    told += tokens.length;
    offset += codePoints(delta);
    before.push(...shown.map(({ id }) => id));
    o.send({
      ...o.head,
      choices: [choice],
      ...(end && !include_usage ? { system_fingerprint: api.fingerprint } : {}),
      ...(include_usage && continuous_usage_stats ? { usage: usageOf([prompt.tokens.length], [told]) } : {}),
    });
  };
}
