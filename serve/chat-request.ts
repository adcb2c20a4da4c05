import { z } from "zod";
import { badRequest } from "./api-error.ts";
import type { Api } from "./api-options.ts";
import { bool, int, orElse, text } from "./lax.ts";
import { samplingFields } from "./sampling-request.ts";

const part = z.looseObject({ type: text, text: text.nullish() });
const message = z.looseObject({
  role: text,
  content: z.union([z.string(), z.array(part)]).nullish(),
});

/** How messages become a prompt; /tokenize has these too. */
export const renderingFields = {
  messages: z.array(message),
  add_generation_prompt: orElse(bool, true),
  continue_final_message: orElse(bool, false),
  add_special_tokens: orElse(bool, false),
} as const;
const renderingSchema = z.looseObject(renderingFields);

/** The body of /v1/chat/completions. */
export const chatSchema = z.looseObject({
  ...samplingFields,
  ...renderingFields,
  logprobs: orElse(bool, false),
  top_logprobs: orElse(int, 0),
  max_tokens: int.nullish(),
  max_completion_tokens: int.nullish(),
  echo: orElse(bool, false),
  return_prompt_text: orElse(bool, false),
});
export type ChatRequest = z.infer<typeof chatSchema>;

/** The prompt of a conversation by the model's template. @throws ApiError */
export function renderMessages(
  api: Api,
  request: z.infer<typeof renderingSchema>,
): { readonly text: string; readonly tokens: number[] } {
  const { chat, tokenizer } = api.model;
  if (!chat) throw badRequest("This model has no chat template. Use /v1/completions.");
  const { add_generation_prompt, continue_final_message } = request;
  if (continue_final_message && add_generation_prompt)
    throw badRequest("Cannot set both `continue_final_message` and `add_generation_prompt` to True.");
  if (request.messages.length === 0) throw badRequest("messages must have at least one message");
  const messages = request.messages.map(({ role, content }) => ({ role, content: plain(content) }));
  const whole = chat(messages, add_generation_prompt);
  const rendered = continue_final_message ? openEnded(whole, messages.at(-1)?.content ?? "") : whole;
  const encode = (one: string) =>
    request.add_special_tokens && tokenizer.encodeWhole ? tokenizer.encodeWhole(one) : tokenizer.encode(one);
  return { text: rendered, tokens: encode(rendered) };
}

/** The last message as it was said, a text. */
export function lastContent({ messages }: ChatRequest): string {
  return plain(messages.at(-1)?.content);
}

function plain(content: z.infer<typeof message>["content"]): string {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  const other = content.find(({ type }) => type !== "text");
  if (other) throw badRequest(`This server takes text only, not content parts of type ${other.type}.`);
  return content.map((each) => each.text ?? "").join("\n");
}

/** Without what the template writes after the last message. */
function openEnded(rendered: string, content: string): string {
  const said = content.trim();
  const at = rendered.lastIndexOf(said);
  if (said === "" || at < 0)
    throw badRequest("continue_final_message is set but the final message does not appear in the chat.");
  return rendered.slice(0, at + said.length);
}
