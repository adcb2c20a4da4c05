import { setMaxListeners } from "node:events";
import { Recording } from "../../rollout/recording.ts";
import type { Sequence } from "../../rollout/trajectory.ts";
import { ApiError } from "./api-error.ts";
import type { ChatBody, CompletionBody, Posted } from "./requests.ts";

/** What answers the calls of one rollout, and records them. */
export interface Backend {
  /** The answer's body, as for a request without streaming. @throws ApiError, or anything else for a bug */
  chat(body: ChatBody, to: CallContext): Promise<object>;
  complete(body: CompletionBody, to: CallContext): Promise<object>;
  models(signal: AbortSignal): Promise<object>;
  /** What was recorded, with its text. */
  sequences(recording: Recording): Promise<readonly Sequence[]>;
  /** The rollout is over. */
  release(): void;
}

/** One rollout as its backend sees it. */
export interface CallContext {
  readonly recording: Recording;
  readonly tally: Tally;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What happened to a rollout's calls. */
export interface Tally {
  /** Calls that were answered. */
  calls: number;
  /** Calls that the policy's side could not answer. */
  failed: number;
  /** Calls whose agent stopped waiting, or whose rollout ended first. */
  abandoned: number;
  /** Calls that could not join the sequence they continue, because the chat template rewrites what was said. */
  rewritten: number;
  /** Calls that did not fit into the context. */
  full: number;
  /** Rewards that contradict one that was posted before. */
  contradicted: number;
  /** Calls that were answered and could not be recorded. */
  unrecorded: number;
}

/** A rollout that is over. */
export interface Recorded {
  readonly id: string;
  readonly question?: string;
  readonly sequences: readonly Sequence[];
  readonly posted?: Posted;
  readonly tally: Readonly<Tally>;
  /** Why the policy's side failed first, when it did. */
  readonly failure?: unknown;
}

export interface RolloutOptions {
  readonly id: string;
  /** For the record alone. */
  readonly question?: string | undefined;
  readonly backend: Backend;
  /** A posted reward ends the rollout; else only `close` does. */
  readonly endsWithReward?: boolean;
  /** Told when the first call begins to wait for the model, and when none waits any more. */
  readonly onWaiting?: (waiting: boolean) => void;
}

/** One rollout, open until it is closed: its calls, their tokens, what the agent posted. */
export class Rollout {
  readonly id: string;
  readonly #options: RolloutOptions;
  readonly #recording = new Recording();
  readonly #tally: Tally = {
    ...{ calls: 0, failed: 0, abandoned: 0, rewritten: 0, full: 0, contradicted: 0, unrecorded: 0 },
  };
  readonly #end = new AbortController();
  /** Resolves when the rollout is over. Rejects when what was recorded breaks its promises: a bug. */
  readonly finished: Promise<Recorded>;
  #finish: (recorded: Recorded | Promise<Recorded>) => void = () => {};
  #waiting = 0;
  #posted: Posted | undefined;
  #failure: unknown;

  constructor(options: RolloutOptions) {
    this.id = options.id;
    this.#options = options;
    setMaxListeners(0, this.#end.signal);
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    this.finished.catch(() => {}); // Whoever waits for it hears of it.
  }

  get ended(): boolean {
    return this.#end.signal.aborted;
  }

  chat(body: ChatBody, signal: AbortSignal): Promise<object> {
    return this.#call(signal, (to) => this.#options.backend.chat(body, to));
  }

  complete(body: CompletionBody, signal: AbortSignal): Promise<object> {
    return this.#call(signal, (to) => this.#options.backend.complete(body, to));
  }

  models(signal: AbortSignal): Promise<object> {
    this.#expectOpen();
    return this.#options.backend.models(signal);
  }

  /** The first post counts; the same again changes nothing. @throws ApiError 409 for another */
  post(posted: Posted): void {
    if (this.#posted !== undefined) {
      if (JSON.stringify(this.#posted) === JSON.stringify(posted)) return;
      this.#tally.contradicted++;
      throw new ApiError(409, `rollout ${this.id} has its reward already: ${JSON.stringify(this.#posted)}`);
    }
    this.#expectOpen();
    this.#posted = posted;
    if (this.#options.endsWithReward) void this.close();
  }

  /** Ends it: calls under way are abandoned, later ones refused. */
  close(): Promise<Recorded> {
    if (!this.ended) {
      this.#end.abort(gone(this.id));
      const { backend } = this.#options;
      const sequences = backend.sequences(this.#recording).finally(() => backend.release());
      this.#finish(sequences.then((all) => this.#recorded(all)));
    }
    return this.finished;
  }

  #recorded(sequences: readonly Sequence[]): Recorded {
    const { question } = this.#options;
    return {
      id: this.id,
      ...(question !== undefined && { question }),
      sequences,
      tally: { ...this.#tally },
      ...(this.#posted && { posted: this.#posted }),
      ...(this.#failure !== undefined && { failure: this.#failure }),
    };
  }

  async #call(asked: AbortSignal, work: (to: CallContext) => Promise<object>): Promise<object> {
    this.#expectOpen();
    const signal = AbortSignal.any([asked, this.#end.signal]);
    if (this.#waiting++ === 0) this.#options.onWaiting?.(true);
    try {
      const body = await work({ recording: this.#recording, tally: this.#tally, signal });
      this.#tally.calls++;
      return body;
    } catch (error) {
      if (signal.aborted) {
        this.#tally.abandoned++;
        throw this.ended ? gone(this.id) : error;
      }
      if (error instanceof ApiError && error.status < 500) throw error;
      this.#tally.failed++;
      this.#failure ??= error instanceof ApiError ? (error.cause ?? error) : error;
      throw error;
    } finally {
      if (--this.#waiting === 0) this.#options.onWaiting?.(false);
    }
  }

  #expectOpen(): void {
    if (this.ended) throw gone(this.id);
  }
}

export const gone = (id: string) => new ApiError(410, `rollout ${id} is over: it takes no more calls`);
