import { EndpointError, type EndpointFailure } from "./error.ts";
import { ConnectionError } from "./http-fetch.ts";
import type { HealthEvent } from "./quarantine.ts";

/**
 * What a failure says about the replica. `overloaded` lowers its cap instead, until there is nothing to lower;
 * `refused` is our own mistake.
 */
const verdicts: Record<EndpointFailure, HealthEvent | undefined> = {
  connection: "broke",
  timeout: "failed",
  server: "failed",
  malformed: "failed",
  missingModel: "failed",
  overloaded: undefined,
  refused: undefined,
};

/** What the end of a request for `model` says about its replica; undefined: nothing. */
export function verdictOf(error: unknown, model: string): HealthEvent | undefined {
  // Not an EndpointError: whoever asked has called it off.
  if (!(error instanceof EndpointError)) return undefined;
  if (isWrongModel(error, model)) return "broke";
  return isReset(error) ? "failed" : verdicts[error.kind];
}

/** What the system says of a connection that was made, and broke. */
const resets: readonly (string | undefined)[] = [undefined, "ECONNRESET", "EPIPE"];

/** One connection that broke says little about its server; where nobody listens, the next request fails as well. */
function isReset({ kind, cause }: EndpointError): boolean {
  return kind === "connection" && cause instanceof ConnectionError && resets.includes(cause.code);
}

/** Drivers name the model alone as what they expected where another model answered. */
function isWrongModel({ kind, complaint }: EndpointError, model: string): boolean {
  return kind === "malformed" && complaint.expected === model;
}

/** The files are not there, or not yet there, on the server: a 404 whose text says so. The one failure worth waiting for. */
export function isFolderMissing(error: unknown): boolean {
  return error instanceof EndpointError && error.status === 404 && /no adapter found/i.test(error.message);
}

/** Nobody is there to accept or to refuse. */
export function isUnreachable(error: unknown): boolean {
  return (
    error instanceof EndpointError &&
    (error.kind === "connection" || error.kind === "timeout" || error.kind === "overloaded")
  );
}

/** Did the time run out, rather than someone call it off? */
export function isDeadline({ aborted, reason }: AbortSignal): boolean {
  if (!aborted) return false;
  return reason instanceof EndpointError
    ? reason.kind === "timeout"
    : reason instanceof Error && reason.name === "TimeoutError";
}

export function sayOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
