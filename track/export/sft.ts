import type { Message } from "../../datasets/episodes/episode.ts";
import { type Conversation, searchTool } from "../../rollout/conversation.ts";
import type { StoredTrajectory } from "../run-db.ts";
import { type Origin, provenanceOf } from "./provenance.ts";

/** Forms of a chat row. */
export const chatForms = { openai: openAi, sharegpt: shareGpt, trl } as const;
export type ChatForm = keyof typeof chatForms;
export const chatFormNames = Object.keys(chatForms) as [ChatForm, ...ChatForm[]];

type Row = Readonly<Record<string, unknown>>;

export interface ChatRowOptions {
  readonly conversation: Conversation;
  readonly form: ChatForm;
  readonly ids: boolean;
  /** What the row's text renders to are the row's ids. */
  readonly exact: boolean;
}

/** One sequence of an episode as a row of chat JSONL. `role`: of its seat, where it is a team's. */
export function sftRow(
  episode: StoredTrajectory,
  sequence: number,
  { origin, role, ...o }: ChatRowOptions & { readonly origin: Origin; readonly role?: string | undefined },
): Row {
  const provenance = provenanceOf(episode, sequence, origin);
  return chatRow(o, { format: "forager-sft@1", ...provenance, ...(role === undefined ? {} : { role }) });
}

/** A conversation as a row of chat JSONL. @param provenance where it is from; how it is worded is added */
export function chatRow({ conversation, form, ids, exact }: ChatRowOptions, provenance: Row): Row {
  const { opening, said, layout, ended, tokens, mask } = conversation;
  const turns = said.filter(({ role }) => role === "assistant");
  const ends = turns.map((turn, i) => (i === turns.length - 1 ? ended : turn.ends === true));
  return {
    ...chatForms[form]([...opening, ...said], layout === undefined),
    ...(ids ? { input_ids: tokens, assistant_masks: mask } : {}),
    provenance: {
      ...provenance,
      ...{ layout: layout ?? null, tool_calls: layout === undefined, ended, exact },
      // Before the last turn it is the exception: most are searches, after which more is shown.
      ...(layout !== undefined && ends.slice(0, -1).includes(true) ? { turn_ends: ends } : {}),
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
