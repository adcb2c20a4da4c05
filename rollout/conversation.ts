import type { Layout, Message } from "../datasets/episodes/episode.ts";
import type { SeatPrompt } from "../env/environment.ts";
import { doneBlocks } from "../env/tags.ts";
import type { Renderer, Tokenizer } from "./tokenizer.ts";
import type { Segment, Sequence } from "./trajectory.ts";

/** How a run worded its episodes. */
export interface Wording {
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly format: "plain" | "chat";
  /** Messages that open an episode. @param words a seat's own opening, in place of the config's */
  readonly opening: (question: string, words?: SeatPrompt) => readonly Message[];
  /** What opens the conversation of a seat; of seats that are not named here, the config's own prompt. */
  readonly words?: Readonly<Record<string, SeatPrompt>>;
  /**
   * Did the turn break the rules of a seat's environment? Absent where a correction alone, which then follows, says so.
   * @param next what was shown or said after it
   */
  readonly broke?: (seat: string, turn: Segment, next: Segment | undefined) => boolean;
  /** Marks of an observation. */
  readonly observation: { readonly open: string; readonly close: string };
}

export interface ConversationOptions {
  /** Searches as calls of a tool `search`, observations as what the tool said. */
  readonly toolCalls: boolean;
  /** Learn from turns that were answered with a correction, too. */
  readonly trainInvalid: boolean;
}

/** A sequence as messages. */
export interface Conversation {
  readonly opening: readonly Message[];
  readonly said: readonly Message[];
  /** How the messages became text; absent in the tool-call form, which no policy of ours saw. */
  readonly layout?: Layout;
  /** The last turn ended the text itself. */
  readonly ended: boolean;
  /** The very ids, to the end of the last turn, and 1 on those to learn from. */
  readonly tokens: readonly number[]; // [T]
  readonly mask: readonly (0 | 1)[]; // [T]
  /** Of `tokens`, those of the prompt. */
  readonly promptTokens: number;
}

/** The search tool as the chat API describes functions. */
export const searchTool = {
  type: "function",
  function: {
    name: "search",
    description: "Searches the corpus and returns the passages that fit the query best.",
    parameters: {
      type: "object",
      properties: { query: { type: "string", description: "What to look for." } },
      required: ["query"],
    },
  },
} as const;

/** The tags of searches are not asked for where searches are calls. */
const toolSystem =
  "Answer the question with the help of the search tool. Think inside <think> and </think>. When you know the answer, write it inside <answer> and </answer>: a few words, nothing else.";

/**
 * A sequence as messages: what the policy wrote is the assistant's, observations and corrections are the user's. A
 * prompt that is not what `opening` renders to is one user message, as the model saw it. What follows the last turn is
 * left out; undefined for a sequence without a turn.
 */
export function conversationOf(
  question: string,
  { seat, segments }: Sequence,
  wording: Wording,
  o: ConversationOptions,
): Conversation | undefined {
  const last = segments.findLastIndex(({ source }) => source === "policy");
  if (last < 0) return undefined;
  const kept = segments.slice(0, last + 1);
  const first = kept[0]!.source === "prompt" ? 1 : 0;
  const prompt = kept.slice(0, first);
  const words = wording.words?.[seat];
  const known = prompt[0] !== undefined && isOpening(prompt[0], question, wording, words);
  const frames = known ? observationFrames(wording) : [{ before: "", after: "" }];
  const framed = frames.some(({ before, after }) => before !== "" || after !== "");
  const bodies = kept.slice(first).map((segment) => unframed(segment, frames));
  const readable = known && !bodies.includes(undefined);
  const broke = (turn: Segment, next: Segment | undefined) =>
    wording.broke ? wording.broke(seat, turn, next) : next?.source === "injected";
  const learnt = kept.map(
    (turn, i) => turn.source === "policy" && (o.trainInvalid || !broke(turn, kept[i + 1])),
  );
  const texts = kept.slice(first).map(({ text }, i) => (readable ? bodies[i]! : text));
  const messages = kept.slice(first).map(
    ({ source, finish }, i): Message => ({
      role: source === "policy" ? "assistant" : "user",
      content: texts[i]!,
      ...(source === "policy" && !learnt[first + i] ? { train: false } : {}),
      ...(finish === "eos" && first + i < last ? { ends: true } : {}),
    }),
  );
  const layout = !readable || wording.format === "plain" ? "plain" : framed ? "user" : "inline";
  const raw: Message[] = prompt.map(({ text }) => ({ role: "user", content: text }));
  const text = {
    opening: readable ? wording.opening(question, words) : raw,
    said: [...(messages[0]!.role === "user" ? [nothingSaid] : []), ...merged(messages)],
    layout,
  } as const;
  return {
    ...(o.toolCalls ? withCalls(question, kept.slice(first), messages, wording) : text),
    ended: kept[last]!.finish === "eos",
    tokens: kept.flatMap(({ tokens }) => tokens),
    mask: kept.flatMap(({ tokens }, i) => tokens.map(() => (learnt[i] ? 1 : 0))),
    promptTokens: prompt[0]?.tokens.length ?? 0,
  };
}

/** Stands where something was shown before the first turn: the opening ends here, and speakers take turns. */
const nothingSaid: Message = { role: "assistant", content: "", train: false };

/** Is it the prompt that the run's config makes of the question? By ids, or by text in a run that kept no ids. */
function isOpening(
  { tokens, text }: Segment,
  question: string,
  { renderer, tokenizer }: Wording,
  words: SeatPrompt | undefined,
): boolean {
  const expected = renderer.prompt(question, words);
  return tokens.length > 0 ? sameTokens(tokens, expected) : text === tokenizer.decode(expected);
}

const sameTokens = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length && a.every((token, i) => token === b[i]);

interface Frame {
  readonly before: string;
  readonly after: string;
}

/** What stands around an observation: the whole frame, and without the end of text that a policy had written itself. */
function observationFrames({ renderer, tokenizer }: Wording): readonly Frame[] {
  const mark = "OBSERVED";
  const [before = "", after = ""] = renderer.observation(mark).split(mark);
  const ends = tokenizer.eosIds.map((id) => tokenizer.decode([id])).filter((end) => before.startsWith(end));
  return [{ before, after }, ...ends.map((end) => ({ before: before.slice(end.length), after }))];
}

/** The text of a segment without its frame; undefined when it does not stand in one. */
function unframed({ source, text }: Segment, frames: readonly Frame[]): string | undefined {
  if (source === "policy") return text;
  const frame = frames.find(({ before, after }) => text.startsWith(before) && text.endsWith(after));
  return frame && text.slice(frame.before.length, text.length - frame.after.length);
}

/** Templates want roles to alternate. */
function merged(messages: readonly Message[]): Message[] {
  const out: Message[] = [];
  for (const message of messages) {
    const before = out.at(-1);
    if (before?.role === message.role && before.train === message.train && !before.calls && !before.ends)
      out[out.length - 1] = { ...before, content: before.content + message.content };
    else out.push(message);
  }
  return out;
}

function withCalls(
  question: string,
  segments: readonly Segment[],
  messages: readonly Message[],
  { observation }: Wording,
): Pick<Conversation, "opening" | "said"> {
  const said = messages.map((message, i): Message => {
    const { source } = segments[i]!;
    if (source === "observation")
      return { role: "tool", content: withoutMarks(message.content, observation) };
    // Only a search that was answered became a call.
    if (source !== "policy" || segments[i + 1]?.source !== "observation") return message;
    const block = doneBlocks(message.content, "search").find(({ text }) => text.trim() !== "");
    if (!block) return message;
    const call = { name: "search", arguments: JSON.stringify({ query: block.text.trim() }) };
    return { ...message, content: message.content.slice(0, block.start).trimEnd(), calls: [call] };
  });
  return {
    opening: [
      { role: "system", content: toolSystem },
      { role: "user", content: question },
    ],
    said: merged(said),
  };
}

function withoutMarks(text: string, marks: Wording["observation"]): string {
  const [open, close, body] = [marks.open.trim(), marks.close.trim(), text.trim()];
  return body.startsWith(open) && body.endsWith(close)
    ? body.slice(open.length, body.length - close.length).trim()
    : body;
}
