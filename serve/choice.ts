import type { Api, FinishReason } from "./api-options.ts";
import { type ServedCompletion, ServedError, type ServedRequest, type ServedToken } from "./served-model.ts";
import { decodeVisible, GrowingText } from "./token-text.ts";

/** One completion to be made. */
export interface ChoiceRequest {
  readonly model: string;
  /** [T] */
  readonly prompt: readonly number[];
  readonly params: ServedRequest["params"];
  /** The text keeps the stop string, or the token that ended it. */
  readonly includeStop: boolean;
  /** The text leaves special tokens out. */
  readonly skipSpecial: boolean;
}

export interface ChoiceEnd {
  readonly finishReason: "stop" | "length";
  readonly stopReason: string | number | null;
}

export interface Choice extends ChoiceEnd {
  /** Cut at the stop string; `tokens` are whole. */
  readonly text: string;
  /** [N] */
  readonly tokens: readonly ServedToken[];
}

/** What a stream tells next; the last piece has the end. */
export interface Piece {
  readonly text: string;
  readonly tokens: readonly ServedToken[];
  readonly end?: ChoiceEnd;
}

const none: ReadonlySet<number> = new Set();

export async function wholeChoice(api: Api, request: ChoiceRequest, signal: AbortSignal): Promise<Choice> {
  const completion = await generated(api, request, signal);
  const { tokens } = completion;
  const skip = request.skipSpecial ? api.special : none;
  const ids = visibleIds(completion, request);
  const text = decodeVisible(api.model.tokenizer, ids, skip);
  const { stopReason } = completion;
  const end = endOf(completion);
  if (typeof stopReason !== "string") return { text, tokens, ...end };
  const before = decodeVisible(api.model.tokenizer, ids.slice(0, -1), skip).length;
  return { text: cutAtStop(text, stopReason, before, request.includeStop), tokens, ...end };
}

/** The same, told piece by piece: one token a piece, its text late where a stop string may be on its way. */
export async function streamChoice(
  api: Api,
  request: ChoiceRequest,
  signal: AbortSignal,
  tell: (piece: Piece) => void,
): Promise<Choice> {
  const { stop } = request.params;
  const held = request.includeStop ? 0 : Math.max(0, ...stop.map((each) => each.length - 1));
  const growing = new GrowingText(api.model.tokenizer, request.skipSpecial ? api.special : none);
  let told = 0;
  let pushed = 0;
  // The newest token waits: only the next one, or the end, says whether it is the last.
  let newest: ServedToken | undefined;
  const tellNewest = () => {
    if (!newest) return;
    growing.push(newest.id);
    const upTo = Math.max(told, wholeCharacters(growing.text, growing.text.length - held));
    tell({ text: growing.text.slice(told, upTo), tokens: [newest] });
    told = upTo;
  };
  const onToken = (token: ServedToken) => {
    tellNewest();
    newest = token;
    pushed++;
  };
  const completion = await generated(api, { ...request, onToken }, signal);
  for (const token of completion.tokens.slice(pushed)) onToken(token);
  const before = growing.text.length;
  if (newest && visibleIds(completion, request).length === completion.tokens.length) growing.push(newest.id);
  const { stopReason } = completion;
  const text =
    typeof stopReason === "string"
      ? cutAtStop(growing.text, stopReason, before, request.includeStop)
      : growing.text;
  const end = endOf(completion);
  tell({ text: text.slice(told), tokens: newest ? [newest] : [], end });
  return { text, tokens: completion.tokens, ...end };
}

async function generated(
  api: Api,
  { model, prompt, params, onToken }: ChoiceRequest & Pick<ServedRequest, "onToken">,
  signal: AbortSignal,
): Promise<ServedCompletion> {
  const count = (reason: FinishReason) => api.finished[reason]++;
  try {
    const completion = await api.model.generate(
      { model, prompt, params, ...(onToken ? { onToken } : {}) },
      signal,
    );
    count(endOf(completion).finishReason);
    api.healthy = true;
    return completion;
  } catch (error) {
    count(signal.aborted ? "abort" : "error");
    if (error instanceof ServedError && error.kind === "broken") api.healthy = false;
    throw error;
  }
}

function endOf({ finish, stopReason }: ServedCompletion): ChoiceEnd {
  const finishReason = finish === "length" || finish === "context" ? "length" : "stop";
  return { finishReason, stopReason: stopReason ?? null };
}

/** An end-of-text or stop token that was sampled is not part of the text, unless stops are to be kept. */
function visibleIds(
  { tokens, finish, stopReason }: ServedCompletion,
  { includeStop }: ChoiceRequest,
): number[] {
  const ids = tokens.map(({ id }) => id);
  const endedByToken = finish === "eos" || typeof stopReason === "number";
  return endedByToken && !includeStop ? ids.slice(0, -1) : ids;
}

/** The cut moved before a character that it would halve. */
function wholeCharacters(text: string, upTo: number): number {
  const unit = upTo > 0 ? text.charCodeAt(upTo - 1) : 0;
  return unit >= 0xd800 && unit < 0xdc00 ? upTo - 1 : upTo;
}

/** The stop string that the last token completed; an earlier one may stand where min_tokens protected it. */
function cutAtStop(text: string, stop: string, before: number, include: boolean): string {
  const at = text.indexOf(stop, Math.max(0, before - stop.length + 1));
  if (at < 0) return text;
  return text.slice(0, include ? at + stop.length : at);
}
