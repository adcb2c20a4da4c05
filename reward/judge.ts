import pLimit from "p-limit";
import { z } from "zod";
import { ConfigError, RewardError } from "../core/errors.ts";
import { ChatDialect } from "../rollout/endpoint/chat-dialect.ts";
import type { Connection } from "../rollout/endpoint/connection.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";
import { endpointFailure, parseReply } from "../rollout/endpoint/failure.ts";
import { Leash } from "../rollout/endpoint/leash.ts";
import { openConnection } from "../rollout/endpoint/open-connection.ts";
import { RetryBudget, type RetryCounters, retryCounters, withRetries } from "../rollout/endpoint/retry.ts";
import { JudgeCache, type Verdict } from "./judge-cache.ts";
import type { JudgeConfig } from "./judge-config.ts";
import { type JudgePrompt, replyFormat } from "./judge-prompt.ts";
import { judgeFailure, refusesLength, verdictOf } from "./judge-reply.ts";

export interface JudgeCounters extends RetryCounters {
  /** Attempts that were sent. */
  requests: number;
  /** Verdicts that the cache had. */
  cached: number;
  /** Of every reply whose server counts them. */
  promptTokens: number;
  completionTokens: number;
}

/** Sums up what one verdict takes. */
interface Spent {
  promptTokens: number;
  completionTokens: number;
  counted: boolean;
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

const count = z.int().min(0);
const replySchema = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  // What it costs is not worth a verdict: a broken count is no count.
  usage: z.object({ prompt_tokens: count, completion_tokens: count }).nullish().catch(undefined),
});

class ChatJudge implements Judge {
  readonly #config: JudgeConfig;
  readonly #connection: Connection;
  readonly #cache: JudgeCache;
  readonly #dialect = new ChatDialect();
  readonly #counters: JudgeCounters = {
    ...{ ...retryCounters(), requests: 0, cached: 0 },
    ...{ promptTokens: 0, completionTokens: 0 },
  };
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #budget = new RetryBudget(1);
  /** Does the schema say how long the reason may be? Until the server refuses that. */
  #bounded = true;

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

  async #judge(prompt: JudgePrompt, signal: AbortSignal): Promise<Verdict> {
    const { model, temperature, maxTokens, attempts, retryDelayMs } = this.#config;
    const messages = [
      { role: "system" as const, content: prompt.system },
      { role: "user" as const, content: prompt.user },
    ];
    const spent: Spent = { promptTokens: 0, completionTokens: 0, counted: false };
    let attempt = 0;
    const verdict = await withRetries(
      () => {
        // Another seed each time, so that sampled prose may be followed by a verdict.
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
        return this.#dialect.ask(request, (body) => this.#ask(body, spent, signal));
      },
      { attempts, delayMs: retryDelayMs, budget: this.#budget, counters: this.#counters },
      signal,
    );
    const { promptTokens, completionTokens, counted } = spent;
    return counted ? { ...verdict, usage: { promptTokens, completionTokens } } : verdict;
  }

  /** Once more without the reason's length, when that is what the server does not take. */
  async #ask(body: Record<string, unknown>, spent: Spent, signal: AbortSignal): Promise<Verdict> {
    const bounded = this.#bounded;
    try {
      return await this.#send(body, spent, bounded, signal);
    } catch (error) {
      if (!bounded || !refusesLength(error)) throw error;
      this.#bounded = false;
      return this.#send(body, spent, false, signal);
    }
  }

  async #send(
    body: Record<string, unknown>,
    spent: Spent,
    bounded: boolean,
    outer: AbortSignal,
  ): Promise<Verdict> {
    const { requestTimeoutMs, maxRequests } = this.#config;
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
      const answer: unknown = await this.#connection.openai.post("/chat/completions", {
        body: { ...body, response_format: replyFormat(this.#config.marks, bounded) },
        signal: leash.signal,
      });
      const { choices, usage } = parseReply(replySchema, answer, where);
      if (usage) this.#count(usage, spent);
      const { message, finish_reason: finish } = choices[0]!;
      return verdictOf({ ...message, cut: finish === "length" }, this.#config, where);
    } catch (error) {
      throw judgeFailure(endpointFailure(error, where, leash.signal));
    } finally {
      leash.release();
    }
  }

  #count(usage: { prompt_tokens: number; completion_tokens: number }, spent: Spent): void {
    spent.counted = true;
    for (const sum of [spent, this.#counters]) {
      sum.promptTokens += usage.prompt_tokens;
      sum.completionTokens += usage.completion_tokens;
    }
  }
}
