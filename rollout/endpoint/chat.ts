import { z } from "zod";
import { ConfigError } from "../../core/errors.ts";
import type { TextPolicy } from "../player-seat.ts";
import type { PromptConfig } from "../renderer-config.ts";
import { ChatDialect } from "./chat-dialect.ts";
import { type ChatAct, ChatSeat, type Talk } from "./chat-seat.ts";
import { withStop } from "./chat-text.ts";
import type { EndpointConfig } from "./config.ts";
import { EndpointError } from "./error.ts";
import { endpointFailure, malformed, parseReply } from "./failure.ts";
import { Leash } from "./leash.ts";
import { openConnection } from "./open-connection.ts";
import { gaveUp } from "./reply.ts";
import { RetryBudget, type RetryCounters, retryCounters, withRetries } from "./retry.ts";

export interface ChatOptions {
  /** With or without /v1. */
  readonly url: string;
  readonly model: string;
  readonly apiKey?: string | undefined;
  readonly prompt: Pick<PromptConfig, "system" | "user">;
  readonly config: Pick<
    EndpointConfig,
    "attempts" | "retryShare" | "retryDelayMs" | "requestTimeoutMs" | "turnTimeoutMs"
  >;
  /** Told, once each, what the server does not take and is done without. */
  readonly onNotice?: (text: string) => void;
  /** Most tokens of a turn in the model's own counting; default: what the environment allows. */
  readonly maxTokens?: number;
}

export interface ChatCounters extends RetryCounters {
  requests: number;
  /** As the server counts them; 0 where it does not say. */
  promptTokens: number;
  completionTokens: number;
}

export interface ChatPolicy extends TextPolicy {
  counters(): ChatCounters;
  close(): void;
}

const replySchema = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
        finish_reason: z.string().nullish(),
        stop_reason: z.unknown().optional(),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
});
type Reply = z.infer<typeof replySchema>;

/** Filtered texts and calls of tools that nobody offered are ends of the model's own. */
const reasons: Readonly<Record<string, "stop" | "length">> = {
  stop: "stop",
  length: "length",
  content_filter: "stop",
  tool_calls: "stop",
  function_call: "stop",
};

/**
 * A model behind a chat-completions API, for evaluation: closed models, and servers that give no token ids. Pass it
 * to `rollGroups` as the policy. Its prompt is `prompt`, whatever the renderer makes of it elsewhere.
 */
export function chatPolicy(options: ChatOptions): ChatPolicy {
  const { url, model, apiKey, config, onNotice } = options;
  const connection = openConnection({ url, apiKey });
  const where = `POST ${connection.openai.baseURL}/chat/completions`;
  const dialect = new ChatDialect(onNotice);
  const counters: ChatCounters = { ...retryCounters(), requests: 0, promptTokens: 0, completionTokens: 0 };
  const budget = new RetryBudget(config.retryShare);
  const policy = { attempts: config.attempts, delayMs: config.retryDelayMs, budget, counters };

  const ask = async (body: Record<string, unknown>, outer: AbortSignal): Promise<Reply> => {
    const { requestTimeoutMs } = config;
    const leash = new Leash(outer);
    leash.deadline(requestTimeoutMs, () => late(where, `no answer within ${requestTimeoutMs} ms`));
    try {
      const reply: unknown = await connection.openai.post("/chat/completions", {
        body,
        signal: leash.signal,
      });
      return parseReply(replySchema, reply, where);
    } catch (error) {
      throw endpointFailure(error, where, leash.signal);
    } finally {
      leash.release();
    }
  };

  const talk: Talk = async (messages, { stop, maxTokens, seed, place }) => {
    counters.requests++;
    const { temperature, topP, topK } = place.decoding;
    const leash = new Leash(place.signal);
    leash.deadline(config.turnTimeoutMs, () => late(where, `no end within ${config.turnTimeoutMs} ms`));
    const most = options.maxTokens ?? maxTokens;
    const asked = { model, messages, temperature, topP, topK, maxTokens: most, stop, seed };
    try {
      leash.signal.throwIfAborted();
      const reply = await withRetries(
        () => dialect.ask(asked, (body) => ask(body, leash.signal)),
        policy,
        leash.signal,
      );
      counters.promptTokens += reply.usage?.prompt_tokens ?? 0;
      counters.completionTokens += reply.usage?.completion_tokens ?? 0;
      return actOf(reply, stop, where);
    } catch (error) {
      // The conversation has outgrown the model: the policy's own doing, as it is where we count the tokens.
      if (isTooLong(error)) return { text: "", finish: "context", tokens: 0 };
      throw error;
    } finally {
      leash.release();
    }
  };

  return {
    // Not known here; the server says when it is reached.
    contextTokens: Number.MAX_SAFE_INTEGER,
    takeSeat: (place) => new ChatSeat(place, options.prompt, talk),
    sample() {
      throw new ConfigError({
        what: "a chat API gives no token ids: it can be evaluated, never trained on",
        where,
        next: "Train against a server of vLLM's or SGLang's API, or in process.",
      });
    },
    release() {},
    counters: () => ({ ...counters, retried: { ...counters.retried } }),
    close: () => connection.close(),
  };
}

function actOf({ choices, usage }: Reply, stop: readonly string[], where: string): ChatAct {
  const [choice] = choices;
  const reason = choice?.finish_reason ?? "stop";
  const known = reasons[reason];
  if (choice === undefined) throw malformed(where, "no choice");
  if (known === undefined) throw gaveUp(where, reason);
  const said = choice.message.content ?? choice.message.refusal ?? "";
  const { text, finish } = withStop(said, stop, known, choice.stop_reason);
  // Rough, where the server does not count: a token has about four characters.
  return {
    ...{ text, finish, tokens: usage?.completion_tokens ?? Math.ceil(text.length / 4) },
    ...(usage && {
      usage: { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens },
    }),
  };
}

const isTooLong = (error: unknown) =>
  error instanceof EndpointError &&
  error.kind === "refused" &&
  /context[ _]length|maximum context|too many tokens|prompt is too long/iu.test(error.message);

const late = (where: string, what: string) =>
  new EndpointError("timeout", {
    what,
    where,
    next: "Raise endpoint.requestTimeoutMs or endpoint.turnTimeoutMs.",
  });
