import type { Context } from "hono";
import type { Api } from "./api-options.ts";
import type { ChatPlan } from "./chat.ts";
import { type Piece, streamChoice } from "./choice.ts";
import { eventStream, type Send } from "./event-stream.ts";
import { chatLogprobs } from "./logprobs.ts";
import { together } from "./together.ts";
import { usageOf } from "./usage.ts";

/** A chat completion as server-sent events: a chunk with the role, then a token each. */
export function streamChat(c: Context, api: Api, plan: ChatPlan): Response {
  const { request, prompt } = plan;
  const head = { id: plan.id, object: "chat.completion.chunk", created: api.now(), model: plan.model };
  const options = request.stream_options;
  return eventStream(c, async (send, signal) => {
    for (const index of plan.choices.keys()) {
      const begin = { index, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null };
      send({
        ...head,
        choices: [begin],
        prompt_token_ids: request.return_token_ids ? prompt.tokens : null,
        prompt_text: request.return_prompt_text ? prompt.text : null,
        ...continuous(plan, 0),
      });
    }
    if (plan.echo !== "")
      for (const index of plan.choices.keys()) {
        const said = { index, delta: { content: plan.echo }, logprobs: null, finish_reason: null };
        send({ ...head, choices: [said], ...continuous(plan, 0) });
      }
    const counts = await together(
      plan.choices.map((choice, index) => async (abort: AbortSignal) => {
        const tell = teller(api, plan, { index, head, send });
        return (await streamChoice(api, choice, abort, tell)).tokens.length;
      }),
      signal,
    );
    if (!options?.include_usage) return;
    const usage = usageOf([prompt.tokens.length], counts);
    send({ ...head, choices: [], usage, system_fingerprint: api.fingerprint });
  });
}

/** Writes one choice's pieces as chunks. */
function teller(
  api: Api,
  plan: ChatPlan,
  o: { index: number; head: object; send: Send },
): (piece: Piece) => void {
  const { request, prompt } = plan;
  const before = [...prompt.tokens.slice(-4)];
  let told = 0;
  return ({ text, tokens, end }) => {
    const naming = { asIds: request.return_tokens_as_token_ids, before, topCount: request.top_logprobs };
    const choice = {
      index: o.index,
      delta: { content: text },
      logprobs: request.logprobs ? chatLogprobs(api, tokens, naming) : null,
      finish_reason: end?.finishReason ?? null,
      ...(end ? { stop_reason: end.stopReason } : {}),
      token_ids: request.return_token_ids ? tokens.map(({ id }) => id) : null,
    };
    told += tokens.length;
    before.push(...tokens.map(({ id }) => id));
    o.send({
      ...o.head,
      choices: [choice],
      ...(end && !request.stream_options?.include_usage ? { system_fingerprint: api.fingerprint } : {}),
      ...continuous(plan, told),
    });
  };
}

function continuous({ request, prompt }: ChatPlan, told: number): object {
  const { include_usage, continuous_usage_stats } = request.stream_options ?? {};
  return include_usage && continuous_usage_stats ? { usage: usageOf([prompt.tokens.length], [told]) } : {};
}
