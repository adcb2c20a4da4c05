import { setTimeout as sleep } from "node:timers/promises";
import { EndpointError, type EndpointFailure } from "./error.ts";

/** A step's deadline took the request back while its server was still at it. No failure: it costs no attempt. */
export class Hurried extends Error {
  override readonly name = "Hurried";
}

export type RetryCause = EndpointFailure | "hurried";

export interface RetryCounters {
  /** Requests made again, by why. */
  readonly retried: Record<RetryCause, number>;
  /** Attempts that met a deadline, of the attempt or of the whole turn. */
  timeouts: number;
  /** Turns that failed in the end. Those that were called off are not among them. */
  failed: number;
}

export function retryCounters(): RetryCounters {
  const none = { connection: 0, timeout: 0, overloaded: 0, server: 0, missingModel: 0, malformed: 0 };
  return { retried: { ...none, refused: 0, hurried: 0 }, timeouts: 0, failed: 0 };
}

/**
 * How many retries all requests together may make: some at the start, and a share of one for each request. So a server
 * that fails for good is not asked `attempts` times as much as one that works.
 */
export class RetryBudget {
  readonly #share: number;
  #left: number;

  /** @param share retries that each request pays for, on average; 0 leaves `least` of them in all */
  constructor(share: number, least = 10) {
    this.#share = share;
    this.#left = least;
  }

  earn(): void {
    this.#left += this.#share;
  }

  spend(): boolean {
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}

export interface RetryPolicy {
  /** Most attempts of one request, ≥ 1. */
  readonly attempts: number;
  /** Pause before the second, in milliseconds, doubled with each further one, 30 s at most. */
  readonly delayMs: number;
  readonly budget: RetryBudget;
  readonly counters: RetryCounters;
}

const longestPauseMs = 30_000;

/**
 * Makes a request until it succeeds, cannot succeed, or has used up its attempts or the budget.
 * @param signal over all attempts: its reason is thrown as it is, and counts as a failure only if it is a deadline
 * @throws EndpointError of the last attempt; what is no EndpointError passes through at once
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  policy: RetryPolicy,
  signal: AbortSignal,
): Promise<T> {
  const { attempts, delayMs, budget, counters } = policy;
  budget.earn();
  for (let made = 1; ; ) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) throw overall(signal.reason, counters);
      if (error instanceof Hurried) {
        counters.retried.hurried++;
        continue;
      }
      if (!(error instanceof EndpointError)) throw error;
      if (error.kind === "timeout") counters.timeouts++;
      const left = error.retryable && made < attempts;
      if (!left || !budget.spend()) {
        counters.failed++;
        throw made === 1 && !left ? error : lastOf(error, made, attempts, left);
      }
      counters.retried[error.kind]++;
      const pause = Math.min(longestPauseMs, delayMs * 2 ** (made - 1));
      made++;
      if (pause > 0) await sleep(pause, undefined, { signal }).catch(() => {});
      if (signal.aborted) throw overall(signal.reason, counters);
    }
  }
}

/** The signal over all attempts rang: a deadline of the turn is a failure, a cancelled episode is not. */
function overall(reason: unknown, counters: RetryCounters): unknown {
  if (reason instanceof EndpointError) {
    counters.timeouts++;
    counters.failed++;
  }
  return reason;
}

function lastOf(error: EndpointError, made: number, attempts: number, budgetSpent: boolean): EndpointError {
  const { complaint } = error;
  const why = budgetSpent ? ", and the endpoint's retry budget is used up" : "";
  const what = `${complaint.what} (attempt ${made} of ${attempts}${why})`;
  return new EndpointError(error.kind, { ...complaint, what, cause: error }, error.status);
}
