import { DataError, SamplerError } from "../../core/errors.ts";
import type { Chat } from "../../rollout/chat.ts";
import { ChatHistory } from "../../rollout/chat-history.ts";
import type { Recording } from "../../rollout/recording.ts";
import type { Completion, Sampler } from "../../rollout/sampler.ts";
import { brokenReply, type Decoding } from "../../rollout/seat.ts";
import { TextHistory } from "../../rollout/text-history.ts";
import type { Tokenizer } from "../../rollout/tokenizer.ts";
import { readToolCalls } from "../../rollout/tool-calls.ts";
import { ApiError } from "./api-error.ts";
import { type Choice, chatReply, completionReply } from "./replies.ts";
import { type ChatBody, type CompletionBody, extrasOf, messagesOf, stopsOf } from "./requests.ts";
import type { Backend, CallContext } from "./rollout.ts";

export interface SampledOptions {
  readonly sampler: Sampler;
  readonly tokenizer: Tokenizer;
  readonly chat: Chat;
  /** The run's own: what an agent asks for would be unknown to the trainer. */
  readonly decoding: Decoding;
  /** 32-bit seed of a call, by a key that depends on what it asks alone. */
  readonly seedOfCall: (key: string) => number;
  /** Begins the names of its sequences to the sampler. */
  readonly sequence: string;
  readonly group: string;
  /** Most tokens of a call that names no limit; the room in the context unless given. */
  readonly maxTokens?: number;
}

/** The name under which the policy answers, whatever an agent calls it. */
const model = "policy";

/** Answers the calls of one rollout from a sampler of ours, token for token as the trainer will see them. */
export class SampledBackend implements Backend {
  readonly #options: SampledOptions;
  readonly #chats: ChatHistory;
  readonly #texts: TextHistory;
  readonly #sequences = new Set<string>();
  #replies = 0;
  /** The policy failed: the episode is lost, and nothing is sampled for it any more. */
  #broken: unknown;

  constructor(options: SampledOptions) {
    this.#options = options;
    this.#chats = new ChatHistory(options.chat, options.tokenizer);
    this.#texts = new TextHistory(options.tokenizer);
  }

  async chat(body: ChatBody, to: CallContext): Promise<object> {
    const { chat, tokenizer } = this.#options;
    const messages = messagesOf(body);
    const extras = extrasOf(body, chat.tools);
    const prompt = this.#prompted(() => this.#chats.prompt(messages, extras));
    const asked = body.max_completion_tokens ?? body.max_tokens ?? undefined;
    const drawn = await this.#draw(Array(body.n ?? 1).fill(prompt.tokens), { body, asked }, to);
    if (prompt.rewritten) to.tally.rewritten++;
    const choices = drawn.map(({ choice, full }) => {
      const { content, calls } = extras.tools
        ? readToolCalls(choice.text)
        : { content: choice.text, calls: [] };
      const tokens = [...choice.prompt, ...choice.tokens];
      const reply = { role: "assistant", content, calls };
      this.#chats.said(messages, extras, { reply, full, tokens, rendered: prompt.rendered });
      return { ...choice, text: content, calls };
    });
    const textOf = body.logprobs ? (id: number) => tokenizer.decode([id]) : undefined;
    return chatReply(choices, { ...this.#shell(body), textOf });
  }

  async complete(body: CompletionBody, to: CallContext): Promise<object> {
    const { tokenizer } = this.#options;
    const prompts = promptsOf(body).flatMap((prompt) => {
      const tokens = typeof prompt === "string" ? this.#prompted(() => this.#texts.prompt(prompt)) : prompt;
      const wrong = tokens.find((id) => id >= tokenizer.vocabSize);
      if (wrong !== undefined) throw new ApiError(400, `prompt: token id ${wrong} is outside the vocabulary`);
      return Array(body.n ?? 1).fill({ prompt, tokens }) as {
        prompt: string | number[];
        tokens: readonly number[];
      }[];
    });
    const asked = body.max_tokens ?? undefined;
    const drawn = await this.#draw(
      prompts.map(({ tokens }) => tokens),
      { body, asked },
      to,
    );
    drawn.forEach(({ choice, full }, i) => {
      const text = prompts[i]?.prompt;
      if (typeof text === "string") this.#texts.said(text + full, [...choice.prompt, ...choice.tokens]);
    });
    const textOf = body.logprobs == null ? undefined : (id: number) => tokenizer.decode([id]);
    return completionReply(
      drawn.map(({ choice }) => choice),
      { ...this.#shell(body), textOf },
    );
  }

  async models(): Promise<object> {
    const card = { id: model, object: "model", created: 0, owned_by: "forager", root: model, parent: null };
    return { object: "list", data: [{ ...card, max_model_len: this.#options.sampler.contextTokens }] };
  }

  sequences(recording: Recording) {
    const { tokenizer } = this.#options;
    return recording.sequences("agent", (ids) => tokenizer.decode(ids), tokenizer);
  }

  release(): void {
    for (const name of this.#sequences) this.#options.sampler.release(name);
  }

  /** All prompts at once, each a completion of its own; recorded together, in order, or not at all. */
  async #draw(
    prompts: readonly (readonly number[])[],
    { body, asked }: { body: ChatBody | CompletionBody; asked: number | undefined },
    { recording, tally, signal }: CallContext,
  ): Promise<{ choice: Choice; full: string }[]> {
    const { sampler, decoding, sequence, group, seedOfCall, maxTokens } = this.#options;
    if (this.#broken !== undefined)
      throw unavailable(
        new SamplerError({ what: "an earlier call of this rollout failed", cause: this.#broken }),
      );
    const wanted = asked ?? maxTokens ?? Number.POSITIVE_INFINITY;
    const stop = stopsOf(body);
    for (const { length } of prompts) {
      if (length === 0) throw new ApiError(400, "the prompt is empty");
      if (length < sampler.contextTokens) continue;
      tally.full++;
      throw new ApiError(
        400,
        `This model's maximum context length is ${sampler.contextTokens} tokens. However, your prompt has ${length}.`,
        { code: "context_length_exceeded" },
      );
    }
    const calls = prompts.map((prompt) => recording.begin(prompt));
    try {
      const completions = await Promise.all(
        calls.map(async ({ sequence: name, key }, i): Promise<Completion> => {
          const prompt = prompts[i] as readonly number[];
          const limit = Math.min(wanted, sampler.contextTokens - prompt.length);
          const request = { sequence: `${sequence}/${name}`, group, prompt };
          this.#sequences.add(request.sequence);
          const params = { ...decoding, maxTokens: limit, stop, seed: seedOfCall(key) };
          const { tokens, logprobs, text, finish, version } = await sampler.sample(
            { ...request, params },
            signal,
          );
          const facts = brokenReply(tokens, logprobs, text, version, limit, this.#options.tokenizer);
          if (facts) throw new SamplerError({ where: `sequence ${request.sequence}`, ...facts });
          // The room was smaller than what was asked for: it is the context that ended the turn.
          return {
            tokens,
            logprobs,
            text,
            version,
            finish: finish === "length" && limit < wanted ? "context" : finish,
          };
        }),
      );
      signal.throwIfAborted();
      calls.forEach((call, i) => {
        call.add(completions[i] as Completion);
      });
      return completions.map((done, i) => choiceOf(done, prompts[i] as readonly number[], stop, body));
    } catch (error) {
      for (const call of calls) call.drop();
      if (signal.aborted) throw error;
      this.#broken = error;
      throw error instanceof SamplerError ? unavailable(error) : error;
    }
  }

  #prompted<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      // The template refuses the messages, or the vocabulary a word: the agent's doing.
      throw error instanceof DataError ? new ApiError(400, error.message) : error;
    }
  }

  #shell(body: ChatBody | CompletionBody) {
    return { id: String(this.#replies++), model, tokenIds: body.return_token_ids === true };
  }
}

const unavailable = (cause: SamplerError) =>
  new ApiError(503, `the policy failed: ${cause.message}`, { cause });

function choiceOf(
  { tokens, logprobs, text, finish }: Completion,
  prompt: readonly number[],
  stop: readonly string[],
  { include_stop_str_in_output: whole }: ChatBody | CompletionBody,
): { choice: Choice; full: string } {
  const found = finish === "stop" ? firstStop(text, stop) : undefined;
  const shown = found && !whole ? text.slice(0, found.at) : text;
  const choice = {
    text: shown,
    calls: [],
    finish,
    stopReason: found?.stop ?? null,
    prompt,
    tokens,
    logprobs,
  };
  return { choice, full: text };
}

/** The stop string that occurs first, with where it begins. */
function firstStop(text: string, stop: readonly string[]): { stop: string; at: number } | undefined {
  return stop
    .map((each) => ({ stop: each, at: text.indexOf(each) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0];
}

function promptsOf({ prompt }: CompletionBody): readonly (string | number[])[] {
  if (typeof prompt === "string") return [prompt];
  return typeof prompt[0] === "number" ? [prompt as number[]] : (prompt as string[] | number[][]);
}
