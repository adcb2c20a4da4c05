import type { Finish } from "../../env/environment.ts";
import type { ToolCall } from "../../rollout/tool-calls.ts";

/** One sampled choice, as it is told to an agent. */
export interface Choice {
  readonly text: string;
  /** null: the tools were not offered, or not called. */
  readonly calls: readonly ToolCall[];
  readonly finish: Finish;
  /** The stop string that ended it. */
  readonly stopReason: string | null;
  readonly prompt: readonly number[];
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
}

interface ReplyOptions {
  readonly id: string;
  readonly model: string;
  readonly tokenIds: boolean;
  /** Each token's text, when logprobs were asked for. */
  readonly textOf?: ((id: number) => string) | undefined;
}

const finishReasons = { stop: "stop", eos: "stop", length: "length", context: "length" } as const;

/** The body of /v1/chat/completions. */
export function chatReply(choices: readonly Choice[], o: ReplyOptions): object {
  return {
    ...head(o, "chat.completion", choices),
    ...(o.tokenIds && { prompt_token_ids: choices[0]?.prompt }),
    choices: choices.map((choice, index) => ({
      index,
      message: {
        role: "assistant",
        content: choice.calls.length > 0 && choice.text === "" ? null : choice.text,
        refusal: null,
        ...(choice.calls.length > 0 && {
          tool_calls: choice.calls.map((call, i) => ({
            id: `call_${o.id}_${index}_${i}`,
            type: "function",
            function: { name: call.name, arguments: call.arguments },
          })),
        }),
      },
      logprobs: o.textOf ? { content: chatLogprobs(choice, o.textOf) } : null,
      finish_reason: choice.calls.length > 0 ? "tool_calls" : finishReasons[choice.finish],
      stop_reason: choice.stopReason,
      ...(o.tokenIds && { token_ids: choice.tokens }),
    })),
  };
}

/** The body of /v1/completions. */
export function completionReply(choices: readonly Choice[], o: ReplyOptions): object {
  return {
    ...head(o, "text_completion", choices),
    choices: choices.map((choice, index) => ({
      index,
      text: choice.text,
      logprobs: o.textOf
        ? { tokens: choice.tokens.map(o.textOf), token_logprobs: choice.logprobs, top_logprobs: null }
        : null,
      finish_reason: finishReasons[choice.finish],
      stop_reason: choice.stopReason,
      ...(o.tokenIds && { token_ids: choice.tokens, prompt_token_ids: choice.prompt }),
    })),
  };
}

function head({ id, model }: ReplyOptions, object: string, choices: readonly Choice[]): object {
  const prompts = new Set(choices.map(({ prompt }) => prompt)); // n choices share one
  const prompt_tokens = [...prompts].reduce((n, { length }) => n + length, 0);
  const completion_tokens = choices.reduce((n, { tokens }) => n + tokens.length, 0);
  return {
    id: `${object === "text_completion" ? "cmpl" : "chatcmpl"}-${id}`,
    object,
    created: 0, // A clock would make two equal runs differ.
    model,
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  };
}

function chatLogprobs({ tokens, logprobs }: Choice, textOf: (id: number) => string): object[] {
  return tokens.map((id, i) => {
    const token = textOf(id);
    return { token, logprob: logprobs[i], bytes: [...Buffer.from(token)], top_logprobs: [] };
  });
}

/** An answer as server-sent events: all of it in one chunk, then its end. */
export function asEvents(body: object, includeUsage: boolean): string {
  const { choices, usage, object, ...rest } = body as {
    choices: LooseChoice[];
    usage?: unknown;
    object: string;
  };
  const shell = { ...rest, object: object === "chat.completion" ? "chat.completion.chunk" : object };
  const chunks: object[] = choices.flatMap(({ message, finish_reason, stop_reason, ...choice }) => {
    const delta = message && {
      ...message,
      tool_calls: message.tool_calls?.map((call, index) => ({ index, ...call })),
    };
    const [said, end] = message ? [{ delta }, { delta: {} }] : [{}, { text: "" }];
    return [
      { ...shell, choices: [{ ...choice, ...said, finish_reason: null }] },
      { ...shell, choices: [{ index: choice.index, ...end, logprobs: null, finish_reason, stop_reason }] },
    ];
  });
  if (includeUsage && usage) chunks.push({ ...shell, choices: [], usage });
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
}

interface LooseChoice {
  readonly index: number;
  readonly message?: { readonly tool_calls?: readonly object[] };
  readonly finish_reason: unknown;
  readonly stop_reason: unknown;
}
