import { EndpointError } from "./error.ts";
import { Leash } from "./leash.ts";
import type { Member } from "./member.ts";
import { type After, orAborted } from "./timers.ts";

/** A call that is not a completion: bounded by its own time limit, its caller's signal and the end of the fleet. */
export type ControlCall = <T>(
  member: Member,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
) => Promise<T>;

export function controlCalls(o: {
  readonly after: After;
  readonly timeoutMs: number;
  /** The fleet is closed. */
  readonly closed: AbortSignal;
}): ControlCall {
  return async (member, signal, work) => {
    const leash = new Leash(signal);
    const close = () => leash.abort(o.closed.reason);
    if (o.closed.aborted) close();
    else o.closed.addEventListener("abort", close, { once: true });
    const cancel = o.after(o.timeoutMs, () => leash.abort(tooLate(member, o.timeoutMs)));
    try {
      leash.signal.throwIfAborted();
      return await orAborted(work(leash.signal), leash.signal);
    } finally {
      cancel();
      leash.release();
      o.closed.removeEventListener("abort", close);
    }
  };
}

function tooLate({ url }: Member, timeoutMs: number): EndpointError {
  return new EndpointError("timeout", {
    what: `no answer within ${timeoutMs} ms`,
    where: url,
    next: "Look at the server's log.",
  });
}
