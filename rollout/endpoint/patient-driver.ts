import type { Connection } from "./connection.ts";
import type { Driver } from "./driver.ts";
import { EndpointError, type EndpointFailure } from "./error.ts";
import { Leash } from "./leash.ts";
import { RetryBudget, retryCounters, withRetries } from "./retry.ts";

/** What may pass: a probe that met it has learnt nothing yet. A reply that is wrong is what a probe looks for. */
const passing: ReadonlySet<EndpointFailure> = new Set(["connection", "overloaded", "server"]);

/**
 * A driver for those who ask once and have nobody to retry for them: each attempt ends after `timeoutMs` (0 is no
 * limit), and one that may go better the next time is made again, `attempts` in all.
 */
export function patientDriver(
  driver: Driver,
  o: { readonly timeoutMs: number; readonly attempts: number; readonly delayMs: number },
): Driver {
  const { attempts, delayMs, timeoutMs } = o;
  const patiently = <T>(at: Connection, outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => {
    let final: { error: unknown } | undefined;
    const attempt = async (): Promise<T | undefined> => {
      const leash = new Leash(outer);
      leash.deadline(timeoutMs, () => tooLate(at, timeoutMs));
      try {
        return await work(leash.signal);
      } catch (error) {
        if (error instanceof EndpointError && passing.has(error.kind)) throw error;
        final = { error };
        return undefined;
      } finally {
        leash.release();
      }
    };
    const policy = { attempts, delayMs, budget: new RetryBudget(attempts), counters: retryCounters() };
    return withRetries(attempt, policy, outer).then((result) => {
      if (final) throw final.error;
      return result as T;
    });
  };
  return {
    ...driver,
    generate: (at, request, signal) => patiently(at, signal, (each) => driver.generate(at, request, each)),
    score: (at, model, tokens, signal) =>
      patiently(at, signal, (each) => driver.score(at, model, tokens, each)),
    models: (at, signal) => patiently(at, signal, (each) => driver.models(at, each)),
  };
}

function tooLate({ url }: Connection, timeoutMs: number): EndpointError {
  return new EndpointError("timeout", {
    what: `no answer within ${timeoutMs} ms`,
    where: url,
    next: "Look at the server's log, or raise endpoint.requestTimeoutMs.",
  });
}
