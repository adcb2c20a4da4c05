import { DataError } from "../core/errors.ts";
import type { Message, StoredEpisode, Turn } from "../datasets/episodes/episode.ts";
import type { Chat } from "./chat.ts";
import { fitObservation } from "./observation.ts";
import type { Renderer, Tokenizer } from "./tokenizer.ts";
import type { Segment } from "./trajectory.ts";

/** What turns a stored episode into the tokens of one policy. */
export interface EpisodeReader {
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  /** The frames of messages. */
  readonly chat: Chat;
  /** Put around observations that stand in a file without their marks. */
  readonly observation: { readonly open: string; readonly close: string; readonly maxTokens: number };
}

/**
 * A stored episode as segments that SFT trains on: policy segments are learnt from (log-probabilities 0: nothing was
 * sampled here), what a file marks as not to be learnt from is `injected`. The very ids where the file has them for
 * this tokenizer, else its text, encoded piece by piece; then the last policy segment ends the text.
 * @throws DataError for ids of another tokenizer without text, or a chat that the template refuses
 */
export function segmentsOf(episode: StoredEpisode, o: EpisodeReader): Segment[] {
  const { ids, turns, chat, id } = episode;
  if (ids && ids.tokenizer === o.tokenizer.fingerprint) return fromIds(ids.tokens, ids.mask, o.tokenizer);
  if (turns) return fromTurns(turns, episode.question, true, o);
  if (chat?.layout === "plain" || chat?.layout === "inline") return fromStream(episode, o);
  if (chat) return fromChat(chat, o);
  throw new DataError({
    what: "the episode holds only ids of another tokenizer",
    where: id,
    ...(ids ? { got: ids.tokenizer.slice(0, 12) } : {}),
    expected: o.tokenizer.fingerprint.slice(0, 12),
    next: "Train the model that the episodes were sampled with, or export them as text (forager export sft).",
  });
}

function fromIds(tokens: readonly number[], mask: readonly number[], tokenizer: Tokenizer): Segment[] {
  const segments: Segment[] = [];
  for (let from = 0; from < tokens.length; ) {
    let to = from + 1;
    while (to < tokens.length && mask[to] === mask[from]) to++;
    const part = tokens.slice(from, to);
    const odd = part.find((token) => !Number.isInteger(token) || token < 0 || token >= tokenizer.vocabSize);
    if (odd !== undefined)
      throw new DataError({
        what: "a token outside the vocabulary",
        got: String(odd),
        where: `token ${from}`,
      });
    const text = tokenizer.decode(part);
    if (mask[from]) segments.push(policy(text, part, tokenizer));
    else segments.push({ source: from === 0 ? "prompt" : "observation", text, tokens: part });
    from = to;
  }
  return segments;
}

function fromTurns(
  turns: readonly Turn[],
  question: string | undefined,
  ended: boolean,
  { tokenizer, renderer, observation }: EpisodeReader,
): Segment[] {
  const last = turns.findLastIndex(({ source }) => source === "policy");
  const segments = turns.slice(0, last + 1).map(({ source, text, bare, ends }, i): Segment => {
    if (bare) {
      const { tokens } = fitObservation({ ...observation, body: text }, tokenizer, renderer);
      return { source, tokens, text: tokenizer.decode(tokens) };
    }
    const end = (i === last ? ended : ends) ? tokenizer.eosIds.slice(0, 1) : [];
    const tokens = [...tokenizer.encode(text), ...end];
    return source === "policy" ? policy(text, tokens, tokenizer) : { source, text, tokens };
  });
  if (segments[0]?.source === "prompt") return segments;
  const tokens = renderer.prompt(question ?? "");
  return [{ source: "prompt", tokens, text: tokenizer.decode(tokens) }, ...segments];
}

/** Contents that follow each other, as our own exports have them: only the opening stands in frames, if at all. */
function fromStream({ chat, question }: StoredEpisode, o: EpisodeReader): Segment[] {
  const { messages, layout, ended = true } = chat!;
  const first = messages.findIndex(({ role }) => role === "assistant");
  const opening = messages.slice(0, first);
  const text =
    layout === "plain" ? opening.map(({ content }) => content).join("") : o.chat.render(opening, true);
  const turns = messages
    .slice(first)
    .filter(({ content, train, ends }) => content !== "" || train !== false || ends)
    .map(
      ({ role, content, train, ends }): Turn => ({
        source: role !== "assistant" ? "observation" : train === false ? "injected" : "policy",
        text: content,
        ...(ends && { ends }),
      }),
    );
  return fromTurns([{ source: "prompt", text }, ...turns], question, ended, o);
}

/** Stands for an assistant's turn, to see what a template writes after one. */
const standIn = "ASSISTANTSAID";

/** Every message in the frame that the template gives it. What was said is never read back from a template: many change it. */
function fromChat(
  { messages, tools, layout, ended = true }: NonNullable<StoredEpisode["chat"]>,
  { tokenizer, chat }: EpisodeReader,
): Segment[] {
  const extras = tools ? { tools } : {};
  const last = messages.findLastIndex(({ role, train }) => role === "assistant" && train !== false);
  const first = messages.findIndex(({ role }) => role === "assistant");
  const opening = chat.render(messages.slice(0, first), true, extras);
  const segments: Segment[] = [{ source: "prompt", text: opening, tokens: tokenizer.encode(opening) }];
  for (let at = first; at <= last; ) {
    const message = messages[at]!;
    const text = said(message);
    const tokens = tokenizer.encode(text);
    const next = at === last ? -1 : messages.findIndex(({ role }, i) => i > at && role === "assistant");
    // Two turns of ours with nothing shown between them stand in one frame.
    const apart = next >= 0 && (layout === undefined || next > at + 1);
    const between = apart ? gap(chat, messages, at, next, extras) : "";
    const after = tokenizer.encode(between);
    // An agent elsewhere ends its turns itself; ours is stopped at </search>, and only its last turn may end the text.
    const ends = layout === undefined || (next < 0 ? ended : message.ends === true);
    const closed = tokenizer.eosIds.includes(after[0]!); // by the template
    const end =
      next < 0 || (message.ends && !closed) ? tokenizer.eosIds.slice(0, 1) : after.slice(0, closed ? 1 : 0);
    if (ends) tokens.push(...end);
    segments.push(
      message.train === false ? { source: "injected", text, tokens } : policy(text, tokens, tokenizer),
    );
    if (next < 0) break;
    const shown = ends && closed ? after.slice(1) : after;
    segments.push({ source: "observation", text: tokenizer.decode(shown), tokens: shown });
    at = next;
  }
  return segments.filter(({ tokens }) => tokens.length > 0);
}

/** What the template writes from the end of one assistant's text to the beginning of the next one's. */
function gap(
  chat: Chat,
  messages: readonly Message[],
  at: number,
  next: number,
  extras: { readonly tools?: readonly unknown[] },
): string {
  const { calls } = messages[at]!;
  // Some templates let a tool speak only after a call, and write the call after the text.
  const turn = { role: "assistant", content: standIn, ...(calls ? { calls } : {}) };
  const until = [...messages.slice(0, at), turn];
  const whole = chat.render([...until, ...messages.slice(at + 1, next)], true, extras);
  const from = calls ? chat.render(until, false, extras).length : whole.indexOf(standIn) + standIn.length;
  if (!calls) return whole.slice(from);
  const bare = chat.render(
    [...messages.slice(0, at), { role: "assistant", content: standIn }],
    false,
    extras,
  );
  return bare.slice(bare.indexOf(standIn) + standIn.length) + whole.slice(from);
}

/** Calls as Qwen, SmolLM and Hermes models write them. */
function said({ content, calls = [] }: Message): string {
  const written = calls.map(
    ({ name, arguments: given }) =>
      `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${given}}\n</tool_call>`,
  );
  return [...(content === "" ? [] : [content]), ...written].join("\n");
}

function policy(text: string, tokens: readonly number[], { eosIds }: Tokenizer): Segment {
  const finish = eosIds.includes(tokens.at(-1) ?? -1) ? "eos" : "stop";
  return { source: "policy", text, tokens, logprobs: tokens.map(() => 0), version: 0, finish };
}
