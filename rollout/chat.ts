import { type ChatTemplate, compileTemplate } from "./renderer.ts";
import { parsed, type ToolCall } from "./tool-calls.ts";

/** One message of a conversation as the chat API has it, its content joined to one text. */
export interface ChatMessage {
  readonly role: string;
  readonly content: string;
  readonly calls?: readonly ToolCall[];
  /** Ids of `calls`, [calls]. */
  readonly callIds?: readonly string[];
  readonly name?: string;
  /** Which call a tool's message answers. */
  readonly toolCallId?: string;
}

/** What a request changes in the rendering of all of its messages. */
export interface ChatExtras {
  /** Function descriptions, as the API has them. */
  readonly tools?: readonly unknown[];
  /** Further variables of the template, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** Messages as the text that a model sees. */
export interface Chat {
  /** Does it show tools to the model? */
  readonly tools: boolean;
  /** `open`: the text ends where the assistant's turn begins. @throws DataError when the template refuses */
  render(messages: readonly ChatMessage[], open: boolean, extras?: ChatExtras): string;
}

/** The chat format of a model with a template. @throws DataError when it cannot be parsed */
export function templateChat(template: ChatTemplate): Chat {
  const render = compileTemplate(template);
  return {
    tools: /\btools\b/u.test(template.source),
    render: (messages, open, { tools, variables } = {}) =>
      render({
        ...variables,
        messages: messages.map(forTemplate),
        add_generation_prompt: open,
        ...(tools && { tools }),
      }),
  };
}

/** For models without a template: what was said, a line each, and no word of who said it. */
export const plainChat: Chat = {
  tools: false,
  render: (messages) => messages.map(({ content }) => `${content}\n`).join(""),
};

/** Templates want the arguments of a call as an object; the API carries them as text. */
function forTemplate({ role, content, calls, callIds, name, toolCallId }: ChatMessage): object {
  return {
    role,
    content,
    ...(name !== undefined && { name }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(calls &&
      calls.length > 0 && {
        tool_calls: calls.map((call, i) => ({
          id: callIds?.[i] ?? `call_${i}`,
          type: "function",
          function: { name: call.name, arguments: parsed(call.arguments) ?? call.arguments },
        })),
      }),
  };
}
