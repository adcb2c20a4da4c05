import { withoutEnd } from "../ledger.ts";
import type { Completion, SampleRequest, Sampler } from "../sampler.ts";
import type { Tokenizer } from "../tokenizer.ts";
import type { EndpointConfig } from "./config.ts";
import type { Generation } from "./driver.ts";
import { EndpointError } from "./error.ts";
import { malformed } from "./failure.ts";
import type { Fleet, Replica } from "./fleet.ts";
import { Leash } from "./leash.ts";
import {
  Hurried,
  RetryBudget,
  type RetryCounters,
  type RetryPolicy,
  retryCounters,
  withRetries,
} from "./retry.ts";

/** A published policy: what the servers call it, and the version that its tokens are recorded under. */
export interface Served {
  readonly model: string;
  readonly version: number;
  /** What the servers call it for a seat, where seats are played by models of their own. */
  readonly modelOf?: (seat: string | undefined) => string;
}

export interface EndpointCounters extends RetryCounters {
  /** Turns asked for. */
  requests: number;
  /** Turns that the server cut short of what was asked for, because its context was full. */
  clipped: number;
  /** Tokens sent, each turn's whole prompt, and sampled; of turns that succeeded. */
  promptTokens: number;
  completionTokens: number;
}

export interface PolicyEndpoint {
  readonly contextTokens: number;
  /** Samples from one version. Many may be in use at a time. */
  sampler(served: Served): Sampler;
  /** Since the endpoint was made; a copy. */
  counters(): EndpointCounters;
  /**
   * A step's deadline has rung: takes every request that a server is at back once, so that it is made on another one.
   * Requests that have been hurried before, or that no other server could take, are left alone.
   * @returns how many were taken back
   */
  hurry(): number;
}

export interface EndpointOptions {
  readonly fleet: Fleet;
  readonly tokenizer: Tokenizer;
  /** Most tokens of a sequence: the servers' context, or less. */
  readonly contextTokens: number;
  readonly config: Pick<
    EndpointConfig,
    "attempts" | "retryShare" | "retryDelayMs" | "requestTimeoutMs" | "turnTimeoutMs"
  >;
}

/** One turn, over all its attempts. */
interface Turn {
  readonly served: Served;
  readonly model: string;
  readonly request: SampleRequest;
  readonly signal: AbortSignal;
  /** Servers that it has failed on. */
  readonly avoid: Set<string>;
  hurried: boolean;
}

/** An attempt that a server is at. */
interface Flight {
  readonly turn: Turn;
  readonly leash: Leash;
  readonly url: string;
}

/**
 * The policy behind HTTP. Retries belong to the request: a turn that fails is asked for again with the same prompt and
 * seed, on another server where there is one, so that it does not cost the episode, and long episodes are no more
 * likely to be lost than their number of failures makes them.
 */
export function createEndpoint(options: EndpointOptions): PolicyEndpoint {
  const { fleet, contextTokens } = options;
  const endpoint = new Endpoint(options);
  return {
    contextTokens,
    sampler: (served) => ({
      contextTokens,
      sample: (request, signal) => endpoint.sample(served, request, signal),
      release: (sequence) => fleet.release(sequence),
    }),
    counters: () => ({ ...endpoint.counters, retried: { ...endpoint.counters.retried } }),
    hurry: () => endpoint.hurry(),
  };
}

class Endpoint {
  readonly #options: EndpointOptions;
  readonly #policy: RetryPolicy;
  readonly #underWay = new Set<Flight>();
  readonly counters: EndpointCounters = {
    ...retryCounters(),
    ...{ requests: 0, clipped: 0, promptTokens: 0, completionTokens: 0 },
  };

  constructor(options: EndpointOptions) {
    const { attempts, retryDelayMs, retryShare } = options.config;
    this.#options = options;
    this.#policy = {
      attempts,
      delayMs: retryDelayMs,
      budget: new RetryBudget(retryShare),
      counters: this.counters,
    };
  }

  async sample(served: Served, request: SampleRequest, signal?: AbortSignal): Promise<Completion> {
    signal?.throwIfAborted();
    this.counters.requests++;
    const { turnTimeoutMs } = this.#options.config;
    const leash = new Leash(signal);
    leash.deadline(turnTimeoutMs, () => late(`the turn had no end within ${turnTimeoutMs} ms`, request));
    const model = served.modelOf?.(request.seat) ?? served.model;
    const turn: Turn = { served, model, request, signal: leash.signal, avoid: new Set(), hurried: false };
    try {
      const generation = await withRetries(() => this.#attempt(turn), this.#policy, leash.signal);
      return this.#completion(turn, generation);
    } finally {
      leash.release();
    }
  }

  hurry(): number {
    const { replicas } = this.#options.fleet;
    const elsewhere = ({ url }: Flight) =>
      replicas.some(({ state, connection }) => state === "healthy" && connection.url !== url);
    const slow = [...this.#underWay].filter((flight) => !flight.turn.hurried && elsewhere(flight));
    for (const { turn, leash } of slow) {
      turn.hurried = true;
      leash.abort(new Hurried());
    }
    return slow.length;
  }

  async #attempt(turn: Turn): Promise<Generation> {
    const { model, request, signal, avoid } = turn;
    const leash = new Leash(signal);
    let url: string | undefined;
    const { sequence, group = sequence } = request;
    try {
      return await this.#options.fleet.run(
        { model, group, sequence, avoid },
        (replica) => {
          url = replica.connection.url;
          return this.#generate(turn, replica, leash);
        },
        leash.signal,
      );
    } catch (error) {
      if (url !== undefined) avoid.add(url);
      throw error;
    } finally {
      leash.release();
    }
  }

  /** The attempt's deadline begins here: waiting for room is not the server's fault. */
  async #generate(turn: Turn, { connection, driver }: Replica, leash: Leash): Promise<Generation> {
    const { model, request } = turn;
    const { requestTimeoutMs } = this.#options.config;
    const flight: Flight = { turn, leash, url: connection.url };
    leash.deadline(requestTimeoutMs, () =>
      late(`no answer within ${requestTimeoutMs} ms`, request, connection.url),
    );
    this.#underWay.add(flight);
    try {
      const { prompt, params } = request;
      const generation = await driver.generate(connection, { model, prompt, params }, leash.signal);
      const { vocabSize } = this.#options.tokenizer;
      const wrong = generation.tokens.find((id) => id >= vocabSize);
      if (wrong === undefined) return generation;
      throw malformed(connection.url, "a token outside the tokenizer's vocabulary", {
        got: String(wrong),
        next: "Does the server serve the model that model.path names?",
      });
    } finally {
      this.#underWay.delete(flight);
    }
  }

  #completion({ served, request }: Turn, { tokens, logprobs, finish }: Generation): Completion {
    const { tokenizer } = this.#options;
    const { counters } = this;
    counters.promptTokens += request.prompt.length;
    counters.completionTokens += tokens.length;
    // It ended at a length that nobody asked for: the server cut max_tokens down to what its context had left.
    const clipped = finish === "length" && tokens.length < request.params.maxTokens;
    if (clipped) counters.clipped++;
    return {
      tokens,
      logprobs,
      // The ids are the truth: the server's own text has lost its special tokens, or its stop string.
      text: tokenizer.decode(withoutEnd(tokens, tokenizer)),
      finish: clipped ? "context" : finish,
      version: served.version,
    };
  }
}

function late(what: string, { sequence }: SampleRequest, url?: string): EndpointError {
  return new EndpointError("timeout", {
    what,
    where: url === undefined ? `sequence ${sequence}` : `${url}, sequence ${sequence}`,
    next: "Raise endpoint.requestTimeoutMs or turnTimeoutMs, or lower endpoint.maxInFlight.",
  });
}
