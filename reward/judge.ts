import pLimit from "p-limit";
import { z } from "zod";
import { ConfigError, RewardError } from "../core/errors.ts";
import { ChatDialect } from "../rollout/endpoint/chat-dialect.ts";
import type { Connection } from "../rollout/endpoint/connection.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";
import { endpointFailure, malformed, parseReply } from "../rollout/endpoint/failure.ts";
import { Leash } from "../rollout/endpoint/leash.ts";
import { openConnection } from "../rollout/endpoint/open-connection.ts";
import { RetryBudget, type RetryCounters, retryCounters, withRetries } from "../rollout/endpoint/retry.ts";
import { JudgeCache, type Verdict } from "./judge-cache.ts";
import type { JudgeConfig } from "./judge-config.ts";
import { type JudgePrompt, replyFormat, verdictSchema } from "./judge-prompt.ts";

export interface JudgeCounters extends RetryCounters {
  /** Attempts that were sent. */
  requests: number;
  /** Verdicts that the cache had. */
  cached: number;
}

/** A model that marks answers. Asking is apart from reading, so that scoring stays pure. */
export interface Judge {
  /** The verdict on a content that was asked about, or is in the cache. */
  verdict(key: string): Verdict | undefined;
  /**
   * Asks about every content that has no verdict yet; each once, whatever its number of times. Resolves with why it could
   * not be judged, by key, for those whose every attempt failed: a dead server, a refusal, prose instead of JSON.
   * @throws RewardError when the budget is used up; the signal's reason when aborted
   */
  ask(prompts: readonly JudgePrompt[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Keeps verdicts in judge.jsonl of this folder, unless the config names a file. */
  keepIn(path: string): void;
  counters(): JudgeCounters;
  close(): void;
}

/** @throws ConfigError for an address that is none and a key that is not set; DataError for a broken cache file */
export function openJudge(config: JudgeConfig): Judge {
  const connection = openConnection({ url: config.url, apiKey: keyOf(config.apiKeyEnv) });
  const cache = new JudgeCache();
  if (config.cache !== undefined) cache.open(config.cache);
  return new ChatJudge(config, connection, cache);
}

function keyOf(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined;
  const key = process.env[variable];
  if (key) return key;
  throw new ConfigError({
    what: "the judge's key is not there",
    where: "reward.judge.apiKeyEnv",
    got: `${variable} is not set`,
    next: `Set the environment variable ${variable}, or leave apiKeyEnv out for a server without a key.`,
  });
}

const replySchema = z.object({
  choices: z
    .array(z.object({ message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }) }))
    .min(1),
});

class ChatJudge implements Judge {
  readonly #config: JudgeConfig;
  readonly #connection: Connection;
  readonly #cache: JudgeCache;
  readonly #dialect = new ChatDialect();
  readonly #counters: JudgeCounters = { ...retryCounters(), requests: 0, cached: 0 };
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #budget = new RetryBudget(1);

  constructor(config: JudgeConfig, connection: Connection, cache: JudgeCache) {
    this.#config = config;
    this.#connection = connection;
    this.#cache = cache;
    this.#limit = pLimit(config.concurrency);
  }

  verdict(key: string): Verdict | undefined {
    return this.#cache.get(key);
  }

  async ask(prompts: readonly JudgePrompt[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const open = new Map(prompts.map((prompt) => [prompt.key, prompt]));
    for (const key of [...open.keys()]) if (this.#cache.get(key) && open.delete(key)) this.#counters.cached++;
    const failures = new Map<string, string>();
    // The first error that is no failure of one verdict ends them all.
    const leash = new Leash(signal);
    try {
      const asked = [...open.values()].map((prompt) =>
        this.#limit(async () => {
          try {
            leash.signal.throwIfAborted();
            this.#cache.set(prompt.key, await this.#judge(prompt, leash.signal));
          } catch (error) {
            if (!(error instanceof EndpointError)) {
              leash.abort(error);
              throw error;
            }
            failures.set(prompt.key, error.message);
          }
        }),
      );
      const settled = await Promise.allSettled(asked);
      for (const each of settled) if (each.status === "rejected") throw leash.signal.reason;
    } finally {
      leash.release();
    }
    return failures;
  }

  keepIn(path: string): void {
    if (this.#config.cache === undefined) this.#cache.open(path);
  }

  counters(): JudgeCounters {
    return { ...this.#counters, retried: { ...this.#counters.retried } };
  }

  close(): void {
    this.#connection.close();
  }

  #judge(prompt: JudgePrompt, signal: AbortSignal): Promise<Verdict> {
    const { model, temperature, maxTokens, attempts, retryDelayMs } = this.#config;
    const messages = [
      { role: "system" as const, content: prompt.system },
      { role: "user" as const, content: prompt.user },
    ];
    let attempt = 0;
    return withRetries(
      () => {
        // Another seed each time: at temperature 0 the same request would fail the same way.
        const request = {
          model,
          messages,
          temperature,
          topP: 1,
          topK: 0,
          maxTokens,
          stop: [],
          seed: attempt++,
        };
        return this.#dialect.ask(request, (body) => this.#send(body, signal));
      },
      { attempts, delayMs: retryDelayMs, budget: this.#budget, counters: this.#counters },
      signal,
    );
  }

  async #send(body: Record<string, unknown>, outer: AbortSignal): Promise<Verdict> {
    const { marks, requestTimeoutMs, maxRequests } = this.#config;
    const where = `POST ${this.#connection.openai.baseURL}/chat/completions`;
    if (this.#counters.requests >= maxRequests)
      throw new RewardError({
        what: "the judge's budget is used up",
        where: "reward.judge.maxRequests",
        got: `${maxRequests} requests made`,
        next: "Raise it and go on with --resume: verdicts that were paid for are kept.",
      });
    this.#counters.requests++;
    const leash = new Leash(outer);
    leash.deadline(
      requestTimeoutMs,
      () =>
        new EndpointError("timeout", {
          what: `no verdict within ${requestTimeoutMs} ms`,
          where,
          next: "Raise reward.judge.requestTimeoutMs.",
        }),
    );
    try {
      const reply: unknown = await this.#connection.openai.post("/chat/completions", {
        body: { ...body, response_format: replyFormat(marks) },
        signal: leash.signal,
      });
      const { message } = parseReply(replySchema, reply, where).choices[0]!;
      return verdictOf(message.content ?? message.refusal ?? "", marks, where);
    } catch (error) {
      throw endpointFailure(error, where, leash.signal);
    } finally {
      leash.release();
    }
  }
}

/** The whole text is one JSON object of the form asked for; anything else is no verdict. */
function verdictOf(text: string, marks: number, where: string): Verdict {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw noVerdict(where, text);
  }
  const parsed = verdictSchema(marks).safeParse(json);
  if (!parsed.success) throw noVerdict(where, text);
  return { value: parsed.data.mark / marks, reason: parsed.data.reason };
}

const noVerdict = (where: string, text: string) =>
  malformed(where, "the judge gave no verdict", {
    got: text.length > 200 ? `${text.slice(0, 200)}…` : text,
    expected: '{"reason": …, "mark": …}',
    next: "Use a server that keeps to response_format: json_schema, or raise reward.judge.maxTokens.",
  });
