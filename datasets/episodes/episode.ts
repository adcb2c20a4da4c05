import type { Source } from "./source.ts";

/** What was said in one go. */
export interface Turn {
  readonly source: Source;
  readonly text: string;
  /** An observation without the marks around it: whoever reads it puts its own there. */
  readonly bare?: boolean;
  /** The policy ended the text itself, also where more was shown after it. */
  readonly ends?: boolean;
}

/** One call of a tool in a message, its arguments as JSON text. */
export interface Call {
  readonly name: string;
  readonly arguments: string;
}

/** One message of a chat. */
export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly calls?: readonly Call[];
  /** An assistant's message that is shown but not learnt from. Default: it is learnt from. */
  readonly train?: boolean;
  /** An assistant's message before the last whose text ended itself. */
  readonly ends?: boolean;
}

/**
 * How an exported conversation became the text that its policy saw. `plain`: contents follow each other as they stand;
 * `inline`: the chat template opens the assistant's turn, then contents follow each other; `user`: every message in its frame.
 */
export type Layout = "plain" | "inline" | "user";

/** Messages, with what an export says of how they were rendered; without it every message stands in its frame. */
export interface Chat {
  readonly messages: readonly Message[];
  /** Function descriptions, as the chat API has them. */
  readonly tools?: readonly unknown[];
  readonly layout?: Layout;
  /** False: the last turn was cut, so no end of text follows it. */
  readonly ended?: boolean;
}

/** Token ids as they were sampled. */
export interface Ids {
  /** Fingerprint of the tokenizer that they belong to. */
  readonly tokenizer: string;
  readonly tokens: readonly number[]; // [T]
  /** 1 on what is learnt from. */
  readonly mask: readonly number[]; // [T]
}

/** One stored episode, whatever file it stood in. Ids are preferred where the reader has their tokenizer. */
export interface StoredEpisode {
  readonly id: string;
  /** Whose conversation it is, in an environment of several seats. */
  readonly seat?: string;
  readonly question?: string;
  readonly goldenAnswers?: readonly string[];
  /** The answer that the file says was given; null for none. */
  readonly prediction?: string | null;
  readonly outcome?: string;
  /** In Forager's protocol. Without a prompt turn the reader's own prompt stands before it. */
  readonly turns?: readonly Turn[];
  readonly chat?: Chat;
  readonly ids?: Ids;
}
