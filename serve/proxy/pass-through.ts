import { z } from "zod";
import type { Finish } from "../../env/environment.ts";
import { type HttpClient, httpClient } from "../../rollout/endpoint/http-fetch.ts";
import { logprobRounding } from "../../rollout/ledger.ts";
import type { RecordedTurn, Recording } from "../../rollout/recording.ts";
import { ApiError } from "./api-error.ts";
import type { ChatBody, CompletionBody } from "./requests.ts";
import type { Backend, CallContext } from "./rollout.ts";

export interface PassThroughOptions {
  /** Root URL, without /v1. */
  readonly upstream: string;
  /** Asked for in place of what the agent names. */
  readonly model?: string;
  readonly apiKey?: string;
  /** Text of ids; the server is asked unless given. */
  readonly decode?: (tokens: readonly number[]) => string;
  /** Told why an answer could not be recorded. */
  readonly onUnrecorded?: (reason: string) => void;
}

interface HttpAnswer {
  readonly status: number;
  /** Parsed where it is JSON, else the text. */
  readonly body: unknown;
}

const tokenIds = z.array(z.int().min(0));
const logprob = z.number().max(logprobRounding).gt(-9999, "no logprob for a token");
const choice = z.looseObject({
  finish_reason: z.enum(["stop", "length", "tool_calls"]),
  stop_reason: z.union([z.string(), z.number()]).nullish(),
  token_ids: tokenIds,
});
const chatAnswer = z.looseObject({
  prompt_token_ids: tokenIds,
  choices: z.array(
    z.looseObject({
      ...choice.shape,
      logprobs: z.looseObject({ content: z.array(z.looseObject({ logprob })) }),
    }),
  ),
});
const completionAnswer = z.looseObject({
  choices: z.array(
    z.looseObject({
      ...choice.shape,
      prompt_token_ids: tokenIds,
      logprobs: z.looseObject({ token_logprobs: z.array(logprob) }),
    }),
  ),
});

interface Turn extends RecordedTurn {
  readonly prompt: readonly number[];
}

/**
 * Hands an agent's calls to a vLLM-compatible server as they are, asks for the ids and log-probabilities of what it
 * samples, and records them. The agent gets the answer it would have got.
 */
export class PassThrough implements Backend {
  readonly #options: PassThroughOptions;
  readonly #http: HttpClient = httpClient();

  constructor(options: PassThroughOptions) {
    this.#options = options;
  }

  async chat(body: ChatBody, to: CallContext): Promise<object> {
    const answer = await this.#ask(
      "/v1/chat/completions",
      { ...body, logprobs: true, return_token_ids: true },
      to,
    );
    const parsed = chatAnswer.safeParse(answer);
    const turns = parsed.data?.choices.map((each): Turn => {
      const logprobs = each.logprobs.content.map((token) => token.logprob);
      return { prompt: parsed.data.prompt_token_ids, ...turnOf(each, logprobs) };
    });
    this.#record(turns, parsed.error, to);
    return stripped(answer, body, body.logprobs === true);
  }

  async complete(body: CompletionBody, to: CallContext): Promise<object> {
    const request = { ...body, logprobs: body.logprobs ?? 0, return_token_ids: true };
    const answer = await this.#ask("/v1/completions", request, to);
    const parsed = completionAnswer.safeParse(answer);
    const turns = parsed.data?.choices.map(
      (each): Turn => ({ prompt: each.prompt_token_ids, ...turnOf(each, each.logprobs.token_logprobs) }),
    );
    this.#record(turns, parsed.error, to);
    return stripped(answer, body, body.logprobs != null);
  }

  async models(signal: AbortSignal): Promise<object> {
    return expectObject(await this.#send("GET", "/v1/models", undefined, signal));
  }

  sequences(recording: Recording) {
    return recording.sequences("agent", (tokens) => this.decode(tokens));
  }

  /** Sockets are shared by all rollouts: `close` ends them. */
  release(): void {}

  close(): void {
    this.#http.close();
  }

  /** Text of ids, special tokens written out. */
  async decode(tokens: readonly number[]): Promise<string> {
    const { decode } = this.#options;
    if (decode) return decode(tokens);
    const signal = AbortSignal.timeout(30_000);
    const { status, body } = await this.#send("POST", "/detokenize", { tokens, ...this.#named() }, signal);
    const text = z.union([z.looseObject({ prompt: z.string() }), z.looseObject({ content: z.string() })]);
    const read = text.safeParse(body);
    if (!read.success || status !== 200)
      throw new ApiError(502, `no text from ${this.#options.upstream}/detokenize`);
    return ("prompt" in read.data ? read.data.prompt : read.data.content) as string;
  }

  /** Streaming is the proxy's own: ids and text must come whole. */
  async #ask(path: string, body: ChatBody | CompletionBody, { signal, tally }: CallContext): Promise<object> {
    const request = { ...body, ...this.#named(), stream: false, stream_options: undefined };
    const answer = await this.#send("POST", path, request, signal);
    if (isContextFull(answer)) tally.full++;
    return expectObject(answer);
  }

  #record(
    turns: readonly Turn[] | undefined,
    error: z.ZodError | undefined,
    { recording, tally, signal }: CallContext,
  ) {
    signal.throwIfAborted(); // Nobody hears the answer: it is no part of the rollout.
    const unequal = turns?.find(({ tokens, logprobs }) => tokens.length !== logprobs.length);
    if (!turns || unequal) {
      tally.unrecorded++;
      const issue = error?.issues[0];
      this.#options.onUnrecorded?.(
        unequal ? "ids and logprobs of unequal length" : `${issue?.path.join(".")}: ${issue?.message}`,
      );
      return;
    }
    for (const { prompt, ...turn } of turns) recording.begin(prompt).add(turn);
  }

  async #send(method: "GET" | "POST", path: string, body: unknown, signal: AbortSignal): Promise<HttpAnswer> {
    const { upstream, apiKey } = this.#options;
    const headers = {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    };
    const payload = body === undefined ? null : JSON.stringify(body);
    try {
      const answer = await this.#http.fetch(upstream + path, { method, headers, signal, body: payload });
      return { status: answer.status, body: parsed(await answer.text()) };
    } catch (cause) {
      signal.throwIfAborted();
      throw new ApiError(502, `${upstream} does not answer: ${(cause as Error).message}`, {
        retry: true,
        cause,
      });
    }
  }

  #named(): { model?: string } {
    return this.#options.model === undefined ? {} : { model: this.#options.model };
  }
}

function turnOf(
  { token_ids, finish_reason, stop_reason }: z.infer<typeof choice>,
  logprobs: readonly number[],
): RecordedTurn {
  // Without a stop string or stop id it was the end of text.
  const stopped: Finish = stop_reason == null ? "eos" : "stop";
  return { tokens: token_ids, logprobs, version: 0, finish: finish_reason === "length" ? "length" : stopped };
}

/** The answer as it would be without us. */
function stripped(answer: object, body: ChatBody | CompletionBody, logprobs: boolean): object {
  const whole = answer as { readonly choices?: unknown };
  if (!Array.isArray(whole.choices)) return answer;
  const choices = (whole.choices as object[]).map((each) => ({
    ...each,
    ...(!logprobs && { logprobs: null }),
  }));
  if (body.return_token_ids) return { ...answer, choices };
  const bare = (value: object) => ({ ...value, token_ids: undefined, prompt_token_ids: undefined });
  return bare({ ...answer, choices: choices.map(bare) });
}

/** @throws ApiError with the server's own status and body when it refused or failed */
function expectObject({ status, body }: HttpAnswer): object {
  if (status === 200 && typeof body === "object" && body !== null) return body;
  const message = typeof body === "string" ? body.slice(0, 500) : JSON.stringify(body);
  if (status >= 400)
    throw new ApiError(status, message, { retry: true, ...(typeof body === "object" && { body }) });
  throw new ApiError(502, `an answer that is no JSON object: ${message}`, { retry: true });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const isContextFull = ({ status, body }: HttpAnswer) =>
  status === 400 && /maximum context length|context_length/u.test(JSON.stringify(body));
