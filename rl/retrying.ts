import { setTimeout as sleep } from "node:timers/promises";
import { SamplerError } from "../core/errors.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";

/** A version that could not be published. The run ends; its last checkpoint stands, and resuming publishes anew. */
export class PublishError extends SamplerError {}

/** Longest pause between two attempts, in milliseconds. */
const longestPause = 5_000;

/**
 * Works until it succeeds or `timeoutMs` is over, with pauses that double. Only what may succeed later is tried again.
 * @throws PublishError, the reason of `signal`, or what is not an EndpointError
 */
export async function retrying<T>(
  what: string,
  o: {
    timeoutMs: number;
    retryDelayMs: number;
    signal: AbortSignal | undefined;
    onRetry: (error: EndpointError) => void;
  },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.timeout(o.timeoutMs);
  const signal = o.signal ? AbortSignal.any([deadline, o.signal]) : deadline;
  let last: EndpointError | undefined;
  for (let attempt = 0; ; attempt++) {
    try {
      signal.throwIfAborted();
      return await work(signal);
    } catch (error) {
      if (o.signal?.aborted) throw o.signal.reason;
      if (!(error instanceof EndpointError) && !deadline.aborted) throw error;
      if (error instanceof EndpointError) last = error;
      if (deadline.aborted || !last?.retryable)
        throw new PublishError({
          what,
          got: deadline.aborted
            ? `nothing within ${o.timeoutMs} ms${last ? `; last: ${last.message}` : ""}`
            : `${last?.message}`,
          next: "Look at the servers' logs; the run is saved: `forager train --resume` goes on from its last checkpoint.",
          cause: error,
        });
      o.onRetry(last);
      const pause = Math.min(longestPause, o.retryDelayMs * 2 ** attempt);
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
  }
}
