import { z } from "zod";
import type { ChatExtras, ChatMessage } from "../../rollout/chat.ts";
import { ApiError } from "./api-error.ts";

const toolCall = z.looseObject({
  id: z.string().optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.null(), z.array(part)]).optional(),
  name: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
  tool_call_id: z.string().nullish(),
});

const shared = {
  model: z.string().optional(),
  max_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  include_stop_str_in_output: z.boolean().nullish(),
  n: z.int().min(1).max(64).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  return_token_ids: z.boolean().nullish(),
  echo: z.literal(false, "echo cannot be recorded").nullish(),
  best_of: z.literal(1, "best_of hides what was sampled").nullish(),
  suffix: z.null("suffix cannot be recorded").optional(),
};

/** What we read of a body; everything else in it is let through, or does nothing. */
export const chatBody = z.looseObject({
  ...shared,
  messages: z.array(message).min(1),
  max_completion_tokens: z.int().min(1).nullish(),
  logprobs: z.boolean().nullish(),
  tools: z.array(z.looseObject({})).nullish(),
  tool_choice: z.unknown().optional(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
});
export type ChatBody = z.infer<typeof chatBody>;

const ids = z.array(z.int().min(0)).min(1);
export const completionBody = z.looseObject({
  ...shared,
  prompt: z.union([z.string(), ids, z.array(z.string()).min(1), z.array(ids).min(1)]),
  logprobs: z.int().min(0).nullish(),
});
export type CompletionBody = z.infer<typeof completionBody>;

/** Ends that an agent may say its episode came to. */
const outcome = z.enum(["answered", "no_answer", "turn_limit", "length", "invalid"]);
export const postBody = z
  .strictObject({ reward: z.number().optional(), answer: z.string().optional(), outcome: outcome.optional() })
  .refine(
    ({ reward, answer }) => reward !== undefined || answer !== undefined,
    "a finite number `reward`, or an `answer`, is needed",
  );
/** What an agent posted of its episode. */
export type Posted = z.infer<typeof postBody>;

/** @throws ApiError 400 naming the field that is wrong */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new ApiError(400, `${issue?.path.join(".") || "body"}: ${issue?.message ?? "wrong"}`);
}

/** Messages with one text each. @throws ApiError 400 for images and the like */
export function messagesOf(body: ChatBody): ChatMessage[] {
  return body.messages.map(({ role, content, name, tool_calls, tool_call_id }) => ({
    // "developer" is OpenAI's newer word, which no template knows.
    role: role === "developer" ? "system" : role,
    content: typeof content === "string" ? content : (content ?? []).map(textOf).join(""),
    ...(name != null && { name }),
    ...(tool_call_id != null && { toolCallId: tool_call_id }),
    ...(tool_calls &&
      tool_calls.length > 0 && {
        calls: tool_calls.map((call) => ({ name: call.function.name, arguments: call.function.arguments })),
        callIds: tool_calls.map((call, i) => call.id ?? `call_${i}`),
      }),
  }));
}

function textOf({ type, text }: z.infer<typeof part>): string {
  if (text === undefined) throw new ApiError(400, `messages: content of type ${type} cannot be recorded`);
  return text;
}

/**
 * Tools and template variables of a request.
 * @throws ApiError 400 for what would need another distribution than the policy's own, or a template with tools
 */
export function extrasOf(body: ChatBody, knowsTools: boolean): ChatExtras {
  const { tools, tool_choice, response_format, chat_template_kwargs } = body;
  if (response_format && response_format.type !== "text")
    throw new ApiError(
      400,
      "response_format: a policy in training writes what it will; parse its text instead",
    );
  const offered = tools && tools.length > 0 && tool_choice !== "none" ? tools : undefined;
  if (offered && tool_choice != null && tool_choice !== "auto")
    throw new ApiError(400, "tool_choice: a policy in training cannot be forced to call a tool; use auto");
  if (offered && !knowsTools)
    throw new ApiError(
      400,
      "tools: the model's chat template does not show tools; describe them in a message",
    );
  return {
    ...(offered && { tools: offered }),
    ...(chat_template_kwargs && { variables: chat_template_kwargs }),
  };
}

export const stopsOf = ({ stop }: { stop?: string | string[] | null | undefined }): string[] =>
  (typeof stop === "string" ? [stop] : (stop ?? [])).filter((text) => text !== "");
