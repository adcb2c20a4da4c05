import { DataError } from "../core/errors.ts";
import type { Chat, ChatExtras, ChatMessage } from "./chat.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { readToolCalls, sameCalls } from "./tool-calls.ts";

/** A prompt made from messages. */
export interface ChatPrompt {
  readonly tokens: readonly number[]; // [T]
  /** The whole conversation as the template writes it, open for the reply. */
  readonly rendered: string;
  /** The messages repeat an earlier call's, but the template writes that call's turn in another way than it was sampled. */
  readonly rewritten: boolean;
}

/** A turn that was sampled, with what led to it. */
interface Said {
  /** Tools and template variables as text: what is rendered under others cannot be carried on. */
  readonly extras: string;
  readonly messages: readonly string[];
  /** How the agent may send the turn back: without its stop string, or with it. */
  readonly contents: readonly string[];
  readonly reply: ChatMessage;
  /** The messages as rendered, open for the reply. */
  readonly rendered: string;
  /** All ids from the beginning to the turn's last one. */
  readonly tokens: readonly number[];
}

/** Stands for an assistant's turn, to see what a template writes around one. */
const standIn = "ASSISTANTSAID";

/**
 * Turns the messages of an agent's calls into ids. A turn that was sampled earlier in the rollout is never encoded
 * again: its ids stand as they were, and only what came after it is encoded, as the template writes it.
 */
export class ChatHistory {
  readonly #chat: Chat;
  readonly #tokenizer: Tokenizer;
  readonly #said: Said[] = [];

  constructor(chat: Chat, tokenizer: Tokenizer) {
    this.#chat = chat;
    this.#tokenizer = tokenizer;
  }

  /** @throws DataError when the template refuses the messages */
  prompt(messages: readonly ChatMessage[], extras: ChatExtras): ChatPrompt {
    const rendered = this.#chat.render(messages, true, extras);
    const said = this.#longest(messages, extras);
    const tail = said && possibly(() => this.#tail(said, messages, rendered, extras));
    if (said && tail !== undefined)
      return {
        tokens: joinTurns(said.tokens, this.#tokenizer.encode(tail), this.#tokenizer),
        rendered,
        rewritten: false,
      };
    return { tokens: this.#tokenizer.encode(rendered), rendered, rewritten: said !== undefined };
  }

  /** A turn was sampled: `full` is its text with the stop string that ended it, `reply` what the agent was given. */
  said(
    messages: readonly ChatMessage[],
    extras: ChatExtras,
    turn: { reply: ChatMessage; full: string; rendered: string; tokens: readonly number[] },
  ): void {
    this.#said.push({
      extras: JSON.stringify(extras),
      messages: messages.map(asText),
      contents: [turn.reply.content.trim(), turn.full.trim()],
      reply: turn.reply,
      rendered: turn.rendered,
      tokens: turn.tokens,
    });
  }

  /** The latest turn that the messages repeat, with all that led to it. */
  #longest(messages: readonly ChatMessage[], extras: ChatExtras): Said | undefined {
    const texts = messages.map(asText);
    const under = JSON.stringify(extras);
    let longest: Said | undefined;
    for (const said of this.#said) {
      const at = said.messages.length;
      const sent = messages[at];
      if (at <= (longest?.messages.length ?? -1) || said.extras !== under || sent?.role !== "assistant")
        continue;
      if (!said.messages.every((text, i) => text === texts[i])) continue;
      const { content, calls = [] } = sent;
      if (said.contents.includes(content.trim()) && sameCalls(calls, said.reply.calls ?? [])) longest = said;
    }
    return longest;
  }

  /** What the template writes after the turn; undefined when it does not leave what was before as it was. */
  #tail(
    said: Said,
    messages: readonly ChatMessage[],
    rendered: string,
    extras: ChatExtras,
  ): string | undefined {
    const before = messages.slice(0, said.messages.length);
    const turn = messages[said.messages.length] as ChatMessage;
    const until = this.#chat.render([...before, turn], false, extras);
    const stood = this.#chat.render([...before, { role: "assistant", content: standIn }], false, extras);
    const at = stood.lastIndexOf(standIn);
    if (!rendered.startsWith(until) || !until.startsWith(said.rendered) || at < 0) return undefined;
    const closing = stood.slice(at + standIn.length);
    if (!until.endsWith(closing)) return undefined;
    const written = until.slice(said.rendered.length, until.length - closing.length);
    return sameTurn(written, turn) ? closing + rendered.slice(until.length) : undefined;
  }
}

/** Does the template write all of a turn, white space aside? Many leave out what was thought. */
function sameTurn(written: string, { content, calls = [] }: ChatMessage): boolean {
  const plain = (text: string) => text.replace(/\s+/gu, " ").trim();
  if (calls.length === 0) return plain(written) === plain(content);
  const read = readToolCalls(written);
  return plain(read.content) === plain(content) && sameCalls(read.calls, calls);
}

/** A frame closes the assistant's turn; when the policy has closed it itself, once is enough. */
function joinTurns(
  before: readonly number[],
  tail: readonly number[],
  { eosIds }: Tokenizer,
): readonly number[] {
  const last = before.at(-1);
  const twice = last !== undefined && tail[0] === last && eosIds.includes(last);
  return [...before, ...(twice ? tail.slice(1) : tail)];
}

/** A template that takes the whole conversation may refuse a part of it. */
function possibly<T>(work: () => T | undefined): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof DataError) return undefined;
    throw error;
  }
}

const asText = ({ role, content, calls = [], name, toolCallId }: ChatMessage) =>
  JSON.stringify([role, content, calls, name, toolCallId]);
