import { InvariantError, SamplerError } from "../../core/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Finish } from "../../env/environment.ts";
import type { Tokenizer } from "../../rollout/tokenizer.ts";
import { prefillTokens as mostPrefillTokens, mostRows } from "./buckets.ts";
import { type Entry, KvBudget } from "./continuous-budget.ts";
import { Lane, type LaneContext } from "./continuous-lane.ts";
import { LanePrefill } from "./continuous-prefill.ts";
import {
  type ContinuousCompletion,
  type ContinuousRequest,
  checkPrompt,
  OpenRequest,
} from "./continuous-request.ts";
import { KvArena } from "./kv-arena.ts";
import type { ModelConfig } from "./model-config.ts";
import type { PolicyVersion } from "./policy-version.ts";
import { PrefixStore } from "./prefix-store.ts";
import { rowSums } from "./row-sums.ts";

export interface ContinuousOptions {
  readonly engine: Engine;
  /** Of every version. */
  readonly config: ModelConfig;
  readonly tokenizer: Tokenizer;
  /** Most tokens of a sequence; not above what the model was made for (the default). */
  readonly contextTokens?: number | undefined;
  /** Most requests under way at once; the others wait in the order they came. Default 128. */
  readonly maxRows?: number | undefined;
  /** Most prompt tokens computed between two decode steps. Default 512. */
  readonly prefillTokens?: number | undefined;
  /** Memory for keys and values of requests under way, bytes; never less than one request needs. Default 4 GiB. */
  readonly kvBytes?: number | undefined;
  /** Memory for keys and values of finished texts, bytes; 0 keeps none. Default 2 GiB. */
  readonly keepBytes?: number | undefined;
}

export interface ContinuousLoad {
  readonly running: number;
  readonly waiting: number;
  /** Share of kvBytes that holds keys and values of requests under way, [0, 1]. */
  readonly kvCacheUsage: number;
  /** Totals since the start. Cached ones are the prompt tokens that were copied instead of computed. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generationTokens: number;
  readonly preemptions: number;
  /** Answered. */
  readonly requests: number;
}

interface Waiter {
  readonly resolve: (completion: ContinuousCompletion) => void;
  readonly reject: (error: unknown) => void;
  readonly leave: () => void;
}

/**
 * Continuous batching: requests join while others are under way and leave as soon as they end. A step computes a
 * bounded number of prompt tokens, then one token of every row, one forward pass for each policy version present.
 * A request's result depends on its neighbours by rounding alone, and not on their versions at all.
 */
export class ContinuousSampler {
  readonly contextTokens: number;
  readonly #options: ContinuousOptions;
  readonly #maxRows: number;
  readonly #prefillTokens: number;
  readonly #budget: KvBudget;
  readonly #store: PrefixStore;
  readonly #context: LaneContext;
  readonly #entries = new Map<PolicyVersion, Entry>();
  readonly #waiters = new Map<OpenRequest, Waiter>();
  readonly #retired = new WeakSet<PolicyVersion>();
  /** In order of arrival. */
  #waiting: OpenRequest[] = [];
  #spare: KvArena | undefined;
  #arrivals = 0;
  #loop: Promise<void> | undefined;
  #closed = false;
  #totals = { promptTokens: 0, cachedTokens: 0, generationTokens: 0, preemptions: 0, requests: 0 };

  constructor(options: ContinuousOptions) {
    const {
      config,
      maxRows = 128,
      prefillTokens = 512,
      kvBytes = 4 * 2 ** 30,
      keepBytes = 2 * 2 ** 30,
    } = options;
    if (!(maxRows >= 1 && maxRows <= mostRows))
      throw new InvariantError({
        what: "maxRows of a sampler",
        got: `${maxRows}`,
        expected: `1 to ${mostRows}`,
      });
    this.#options = options;
    this.#maxRows = maxRows;
    this.#prefillTokens = Math.max(1, prefillTokens);
    this.#budget = new KvBudget(kvBytes, new KvArena(config).perPosition);
    this.contextTokens = Math.min(options.contextTokens ?? config.contextTokens, config.contextTokens);
    this.#store = new PrefixStore(keepBytes);
    this.#context = {
      config,
      sumRows: rowSums(options.engine, config.vocabSize),
      store: this.#store,
      answer: (request, finish) => this.#answer(request, finish),
      fail: (request, error) => this.#settle(request)?.reject(error),
      drawn: () => this.#totals.generationTokens++,
      copied: (tokens) => {
        this.#totals.cachedTokens += tokens;
      },
      keeps: (version) => !this.#retired.has(version),
    };
  }

  /**
   * @throws DataError for a prompt that is empty, longer than the context or holds ids outside the vocabulary;
   * SamplerError when logits are not numbers or the sampler is closed; the signal's reason.
   */
  async generate(
    version: PolicyVersion,
    request: ContinuousRequest,
    signal?: AbortSignal,
  ): Promise<ContinuousCompletion> {
    signal?.throwIfAborted();
    if (this.#closed) throw closed();
    checkPrompt(request.prompt, this.#options.config.vocabSize, this.contextTokens);
    const open = new OpenRequest(
      this.#arrivals++,
      { version, request },
      { tokenizer: this.#options.tokenizer, contextTokens: this.contextTokens },
    );
    if (open.full) return open.completion(open.full);
    return new Promise((resolve, reject) => {
      const abort = () => this.#settle(open)?.reject(signal?.reason);
      const leave = () => signal?.removeEventListener("abort", abort);
      signal?.addEventListener("abort", abort);
      this.#waiters.set(open, { resolve, reject, leave });
      this.#waiting.push(open);
      this.#totals.promptTokens += request.prompt.length;
      this.#loop ??= this.#run().catch((error) => this.#abandon(error));
    });
  }

  /** Nothing of this version will be asked for again: what is kept of it is dropped; requests under way end as usual. */
  retire(version: PolicyVersion): void {
    this.#retired.add(version);
    this.#store.forget(version);
  }

  load(): ContinuousLoad {
    const entries = [...this.#entries.values()];
    const live = entries.flatMap(({ requests }) => [...requests].filter(({ settled }) => !settled));
    return {
      ...this.#totals,
      running: live.length,
      waiting: this.#waiting.filter(({ settled }) => !settled).length,
      kvCacheUsage: this.#budget.usage(entries),
    };
  }

  /** Rejects what is under way and frees the caches; compiled programs belong to the engine. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#failAll([...this.#waiters.keys()], closed());
    await this.#loop;
    this.#store.clear();
    this.#store.trim();
    this.#spare = undefined;
  }

  async #run(): Promise<void> {
    for (;;) {
      // Requests and aborts that came meanwhile are seen together, before the step.
      await new Promise<void>((resolve) => setImmediate(resolve));
      this.#sweep();
      this.#admit();
      if (this.#entries.size === 0) break;
      await this.#prefill();
      await this.#decode();
    }
    this.#loop = undefined;
  }

  /** Drops what nobody waits for; a version without requests gives its arena back. */
  #sweep(): void {
    this.#waiting = this.#waiting.filter(({ settled }) => !settled);
    for (const [version, { lane, prefill, requests }] of this.#entries) {
      for (const request of requests) if (request.settled) requests.delete(request);
      lane.sweep();
      prefill.sweep();
      if (requests.size > 0) continue;
      this.#entries.delete(version);
      this.#spare ??= lane.arena;
    }
  }

  #admit(): void {
    let running = 0;
    for (const { requests } of this.#entries.values()) running += requests.size;
    for (; running < this.#maxRows; running++) {
      const [next] = this.#waiting;
      const own = next && this.#entries.get(next.version);
      if (!next || (running > 0 && !this.#budget.fits(next, own, this.#entries.values()))) return;
      this.#waiting.shift();
      const entry = this.#entryOf(next.version);
      entry.requests.add(next);
      entry.prefill.add(next);
    }
  }

  #entryOf(version: PolicyVersion): Entry {
    const known = this.#entries.get(version);
    if (known) return known;
    const lane = new Lane(version, this.#context, this.#spare ?? new KvArena(this.#options.config));
    this.#spare = undefined;
    const entry = { lane, prefill: new LanePrefill(lane, this.#context), requests: new Set<OpenRequest>() };
    this.#entries.set(version, entry);
    return entry;
  }

  async #prefill(): Promise<void> {
    const entries = [...this.#entries.values()];
    const decoding = entries.some(({ lane }) => lane.rows.length > 0);
    for (let left = decoding ? this.#prefillTokens : mostPrefillTokens; left > 0; ) {
      const [next] = entries
        .filter(({ prefill }) => !prefill.empty)
        .sort((a, b) => a.prefill.first - b.prefill.first);
      if (!next) return;
      try {
        left -= await next.prefill.step(left);
      } catch (error) {
        this.#failAll(next.prefill.drop(), error);
      }
    }
  }

  async #decode(): Promise<void> {
    for (const { lane } of [...this.#entries.values()]) {
      this.#preempt();
      try {
        await lane.decode();
      } catch (error) {
        this.#failAll(lane.drop(), error);
      }
    }
  }

  /** Where the rows have outgrown the memory the newest requests go back to the queue, to be taken up again later. */
  #preempt(): void {
    while (this.#budget.exceeded(this.#entries.values())) {
      const running = [...this.#entries.values()].flatMap((entry) =>
        [...entry.requests].map((request) => ({ entry, request })),
      );
      if (running.length <= 1) return;
      const newest = running.reduce((a, b) => (b.request.order > a.request.order ? b : a));
      const { entry, request } = newest;
      entry.requests.delete(request);
      if (!entry.lane.evict(request)) entry.prefill.evict(request);
      if (request.settled) continue;
      this.#totals.preemptions++;
      const at = this.#waiting.findIndex(({ order }) => order > request.order);
      this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, request);
    }
  }

  #failAll(requests: readonly OpenRequest[], error: unknown): void {
    for (const request of requests) this.#settle(request)?.reject(error);
  }

  /** A bug of ours: nobody waits for ever. */
  #abandon(error: unknown): void {
    this.#failAll([...this.#waiters.keys()], error);
    this.#entries.clear();
    this.#loop = undefined;
  }

  #answer(request: OpenRequest, finish: Finish): void {
    const waiter = this.#settle(request);
    if (!waiter) return;
    this.#totals.requests++;
    waiter.resolve(request.completion(finish));
  }

  /** Whoever waits for the request, once. */
  #settle(request: OpenRequest): Waiter | undefined {
    const waiter = this.#waiters.get(request);
    request.settled = true;
    this.#waiters.delete(request);
    waiter?.leave();
    return waiter;
  }
}

const closed = () => new SamplerError({ what: "the sampler was closed" });
