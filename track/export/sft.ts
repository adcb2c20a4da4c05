import type { Message } from "../../datasets/episodes/episode.ts";
import { type Conversation, searchTool } from "../../rollout/conversation.ts";
import type { StoredTrajectory } from "../run-db.ts";
import { type Origin, provenanceOf } from "./provenance.ts";

/** Forms of a chat row. */
export const chatForms = { openai: openAi, sharegpt: shareGpt, trl } as const;
export type ChatForm = keyof typeof chatForms;
export const chatFormNames = Object.keys(chatForms) as [ChatForm, ...ChatForm[]];

type Row = Readonly<Record<string, unknown>>;

/** One sequence of an episode as a row of chat JSONL. `exact`: what the row's text renders to are the row's ids. */
export function sftRow(
  episode: StoredTrajectory,
  sequence: number,
  {
    conversation,
    origin,
    form,
    ids,
    exact,
  }: {
    readonly conversation: Conversation;
    readonly origin: Origin;
    readonly form: ChatForm;
    readonly ids: boolean;
    readonly exact: boolean;
  },
): Row {
  const { opening, said, layout, ended, tokens, mask } = conversation;
  return {
    ...chatForms[form]([...opening, ...said], layout === undefined),
    ...(ids ? { input_ids: tokens, assistant_masks: mask } : {}),
    provenance: {
      format: "forager-sft@1",
      ...provenanceOf(episode, sequence, origin),
      ...{ layout: layout ?? null, tool_calls: layout === undefined, ended, exact },
    },
  };
}

const trained = ({ train }: Message) => train !== false;

/** Messages of OpenAI's form; `flag` adds what says whether an assistant's message is learnt from. */
export function openAiMessages(messages: readonly Message[], flag: (message: Message) => Row): Row[] {
  let [made, answered] = [0, 0];
  return messages.map((message) => {
    const { role, content, calls = [] } = message;
    if (role === "tool") return { role, tool_call_id: `call_${answered++}`, content };
    const tool_calls = calls.map(({ name, arguments: given }) => ({
      id: `call_${made++}`,
      type: "function",
      function: { name, arguments: given },
    }));
    return {
      ...{ role, content },
      ...(tool_calls.length > 0 ? { tool_calls } : {}),
      ...(role === "assistant" ? flag(message) : {}),
    };
  });
}

const weight = (message: Message) => ({ weight: trained(message) ? 1 : 0 });
const train = (message: Message) => ({ train: trained(message) });

function openAi(messages: readonly Message[], calls: boolean): Row {
  return { messages: openAiMessages(messages, weight), ...(calls ? { tools: [searchTool] } : {}) };
}

function trl(messages: readonly Message[], calls: boolean): Row {
  return { messages: openAiMessages(messages, train), ...(calls ? { tools: [searchTool] } : {}) };
}

const speakers = { system: "system", user: "human", assistant: "gpt", tool: "observation" } as const;

function shareGpt(messages: readonly Message[], calls: boolean): Row {
  const conversations = messages.map((message) => {
    const { role, content, calls: made = [] } = message;
    const [call] = made;
    const flag = role === "assistant" ? train(message) : {};
    if (!call) return { from: speakers[role], value: content, ...flag };
    const text = `{"name": ${JSON.stringify(call.name)}, "arguments": ${call.arguments}}`;
    return { from: "function_call", value: content === "" ? text : `${content}\n${text}`, ...flag };
  });
  return { conversations, ...(calls ? { tools: JSON.stringify([searchTool.function]) } : {}) };
}
