import { type Complaint, SamplerError } from "../../core/errors.ts";

/**
 * Why a request failed. `connection`: refused, reset, or closed half-way. `timeout`: the deadline of the request.
 * `overloaded`: 429 or 503. `server`: another 5xx. `missingModel`: 404 for the model, the signature of an adapter that
 * this replica does not hold. `malformed`: a reply that is not what was asked for (also: another model's).
 * `refused`: another 4xx, our own mistake or the user's.
 */
export type EndpointFailure =
  | "connection"
  | "timeout"
  | "overloaded"
  | "server"
  | "missingModel"
  | "malformed"
  | "refused";

/** A server did not do what it was asked to. Infrastructure: never the policy's fault. */
export class EndpointError extends SamplerError {
  readonly kind: EndpointFailure;
  readonly status: number | undefined;
  constructor(kind: EndpointFailure, complaint: Complaint, status?: number) {
    super(complaint);
    this.kind = kind;
    this.status = status;
  }

  /** May the same request succeed elsewhere, or later? */
  get retryable(): boolean {
    return this.kind !== "refused";
  }
}
