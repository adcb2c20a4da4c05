import { z } from "zod";
import type { Call, Chat, Ids, Message, StoredEpisode, Turn } from "./episode.ts";

const call = z
  .looseObject({
    function: z.looseObject({
      name: z.string(),
      arguments: z.union([z.string(), z.record(z.string(), z.unknown())]),
    }),
  })
  .transform(
    ({ function: { name, arguments: given } }): Call => ({
      name,
      arguments: typeof given === "string" ? given : JSON.stringify(given),
    }),
  );

const parts = z
  .array(z.looseObject({ type: z.literal("text"), text: z.string() }))
  .transform((all) => all.map(({ text }) => text).join(""));
const content = z
  .union([z.string(), parts])
  .nullish()
  .transform((text) => text ?? "");
const flag = z.union([z.boolean(), z.number().transform((weight) => weight > 0)]).nullish();

/** OpenAI's form, with its `weight` or the usual `train` as the flag of a message. */
const openAiMessage = z
  .looseObject({
    role: z.enum(["system", "developer", "user", "assistant", "tool"]),
    content,
    tool_calls: z.array(call).nullish(),
    weight: flag,
    train: flag,
  })
  .transform(
    ({ role, content: text, tool_calls, weight, train }): Message => ({
      role: role === "developer" ? "system" : role,
      content: text,
      ...(tool_calls && tool_calls.length > 0 ? { calls: tool_calls } : {}),
      ...((train ?? weight) === false ? { train: false } : {}),
    }),
  );

const roles = {
  system: "system",
  human: "user",
  user: "user",
  gpt: "assistant",
  assistant: "assistant",
  function_call: "assistant",
  observation: "tool",
  tool: "tool",
} as const;
const speaker = z.enum(Object.keys(roles) as [keyof typeof roles, ...(keyof typeof roles)[]]);

/** ShareGPT's form. A `function_call` holds the call as JSON text. */
const shareGptMessage = z
  .looseObject({ from: speaker, value: z.string(), train: flag, weight: flag })
  .transform(({ from, value, train, weight }, context): Message => {
    const off = (train ?? weight) === false ? { train: false } : {};
    if (from !== "function_call") return { role: roles[from], content: value, ...off };
    const parsed = functionCall.safeParse(value);
    if (parsed.success) return { role: "assistant", ...parsed.data, ...off };
    context.addIssue({ code: "custom", path: ["value"], message: 'JSON text of {"name", "arguments"}' });
    return z.NEVER;
  });

/** What precedes the call in the text is what was said before it. */
const functionCall = z.string().transform((text, context) => {
  const from = text.indexOf('{"name"');
  try {
    const { name, arguments: given } = JSON.parse(text.slice(Math.max(from, 0))) as Record<string, unknown>;
    if (typeof name === "string")
      return {
        content: text.slice(0, Math.max(from, 0)).trimEnd(),
        calls: [{ name, arguments: typeof given === "string" ? given : JSON.stringify(given ?? {}) }],
      };
  } catch {}
  context.addIssue({ code: "custom", message: "a call" });
  return z.NEVER;
});

const numbers = z.array(z.number());

/** What our own exports say of a row. */
const provenance = z.looseObject({
  question_id: z.string(),
  question: z.string().nullish(),
  golden_answers: z.array(z.string()).nullish(),
  outcome: z.string().nullish(),
  prediction: z.string().nullish(),
  tokenizer: z.string().nullish(),
  layout: z.enum(["plain", "inline", "user"]).nullish(),
  tool_calls: z.boolean().nullish(),
  ended: z.boolean().nullish(),
  turn_ends: z.array(z.boolean()).nullish(),
  seat: z.string().nullish(),
});

const list = z.array(openAiMessage);

/** Every chat form: `messages`, ShareGPT's `conversations`, TRL's `prompt` and `completion`, or a preference's `chosen`. */
export const chatRecord = z
  .looseObject({
    id: z.union([z.string(), z.int().transform(String)]).nullish(),
    messages: list.nullish(),
    conversations: z.array(shareGptMessage).nullish(),
    system: z.string().nullish(),
    prompt: list.nullish(),
    completion: list.nullish(),
    chosen: list.nullish(),
    tools: z.union([z.array(z.unknown()), z.string()]).nullish(),
    input_ids: numbers.nullish(),
    assistant_masks: numbers.nullish(),
    prompt_ids: numbers.nullish(),
    chosen_ids: numbers.nullish(),
    chosen_masks: numbers.nullish(),
    provenance: provenance.nullish(),
  })
  .transform((row, context): Omit<StoredEpisode, "id"> & { readonly id?: string } => {
    const said = row.messages ?? row.conversations ?? answered(row.prompt, row.completion ?? row.chosen);
    if (!said?.some(({ role, train }) => role === "assistant" && train !== false)) {
      const message = "at least one message of the assistant to learn from";
      context.addIssue({ code: "custom", path: ["messages"], message });
      return z.NEVER;
    }
    const system = row.system ? [{ role: "system", content: row.system } as const] : [];
    const messages = [...system, ...said];
    const p = row.provenance;
    const id = p?.question_id ?? row.id ?? undefined;
    const ids = idsOf(row);
    return {
      ...(id === undefined ? {} : { id }),
      ...(p?.seat ? { seat: p.seat } : {}),
      ...(p?.question ? { question: p.question } : {}),
      ...(p?.golden_answers ? { goldenAnswers: p.golden_answers } : {}),
      ...(p?.outcome ? { outcome: p.outcome } : {}),
      ...(ids ? { ids } : {}),
      ...(p?.tool_calls ? { turns: taggedTurns(messages) } : { chat: chatOf(messages, row.tools, p) }),
    };
  });

const answered = (
  prompt: readonly Message[] | null | undefined,
  said: readonly Message[] | null | undefined,
) => (said ? [...(prompt ?? []), ...said] : undefined);

function chatOf(
  messages: readonly Message[],
  tools: readonly unknown[] | string | null | undefined,
  p: z.output<typeof provenance> | null | undefined,
): Chat {
  const listed = typeof tools === "string" ? parsedList(tools) : tools;
  let turn = 0;
  const ends = p?.turn_ends;
  return {
    messages: ends
      ? messages.map((each) =>
          each.role === "assistant" && ends[turn++] === true ? { ...each, ends: true } : each,
        )
      : messages,
    ...(listed && listed.length > 0 ? { tools: listed } : {}),
    ...(p?.layout ? { layout: p.layout } : {}),
    ...(p?.ended === false ? { ended: false } : {}),
  };
}

function parsedList(text: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The tool-call form of our own exports, back in tags: the calls are searches, what tools said are observations. */
function taggedTurns(messages: readonly Message[]): Turn[] {
  const first = messages.findIndex(({ role }) => role === "assistant");
  return messages.slice(first).map(({ role, content: text, calls, train }): Turn => {
    if (role === "tool") return { source: "observation", text, bare: true };
    if (role !== "assistant") return { source: "injected", text };
    const searches = (calls ?? []).map(({ arguments: given }) => `<search> ${queryOf(given)} </search>`);
    const whole = [text, ...searches].filter((part) => part !== "").join("\n");
    return { source: train === false ? "injected" : "policy", text: whole };
  });
}

function queryOf(given: string): string {
  const { query } = JSON.parse(given) as { query?: unknown };
  return String(query ?? "");
}

function idsOf(row: {
  readonly input_ids?: readonly number[] | null | undefined;
  readonly assistant_masks?: readonly number[] | null | undefined;
  readonly prompt_ids?: readonly number[] | null | undefined;
  readonly chosen_ids?: readonly number[] | null | undefined;
  readonly chosen_masks?: readonly number[] | null | undefined;
  readonly provenance?: { readonly tokenizer?: string | null | undefined } | null | undefined;
}): Ids | undefined {
  const tokenizer = row.provenance?.tokenizer;
  if (!tokenizer) return undefined;
  const { input_ids, assistant_masks, prompt_ids, chosen_ids, chosen_masks } = row;
  if (input_ids && assistant_masks) return { tokenizer, tokens: input_ids, mask: assistant_masks };
  if (!prompt_ids || !chosen_ids || !chosen_masks) return undefined;
  return {
    tokenizer,
    tokens: [...prompt_ids, ...chosen_ids],
    mask: [...prompt_ids.map(() => 0), ...chosen_masks],
  };
}
