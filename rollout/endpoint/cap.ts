import type { ServerLoad } from "./driver.ts";

/** How many requests one server may be given at a time. */
export interface Limit {
  /** 1 to `most`. */
  readonly cap: number;
  readonly most: number;
  /** Preemptions that the server has counted so far; undefined until it says. */
  readonly preemptions: number | undefined;
}

/** Above this share of the key-value cache in use, a server is about to preempt. */
const fullCache = 0.9;
/** Multiplicative decrease: where a server is about to struggle, and where it turns requests away. */
const decrease = 0.75;
const retreat = 0.5;
/** Additive increase: this share of `most`, at least one request. */
const increase = 1 / 32;

export function limitOf(most: number): Limit {
  return { cap: most, most, preemptions: undefined };
}

/**
 * Additive increase, multiplicative decrease (as in TCP) from what the server says of itself. A cap that is not yet
 * reached (`inFlight` above it) is not lowered again: its effect is still to come. `load` undefined: a server that does
 * not say, which is believed to be at ease.
 */
export function afterLoad(limit: Limit, load: ServerLoad | undefined, inFlight: number): Limit {
  const preemptions = load?.preemptions ?? limit.preemptions;
  // A counter that fell is a server that restarted.
  const preempts =
    load !== undefined && limit.preemptions !== undefined && load.preemptions > limit.preemptions;
  const full = preempts || (load?.kvCacheUsage ?? 0) > fullCache;
  const waits = (load?.waiting ?? 0) > 0;
  const now = { ...limit, preemptions };
  if (!full && !waits)
    return { ...now, cap: Math.min(limit.most, limit.cap + Math.max(1, Math.floor(limit.most * increase))) };
  if (inFlight > limit.cap) return now;
  const lower = lowered(limit, inFlight, decrease);
  // What it runs is not too much where requests only queue.
  return full
    ? { ...now, cap: lower }
    : { ...now, cap: Math.max(lower, Math.min(used(limit, inFlight), load?.running ?? 1)) };
}

/** After an answer 429 or 503; `inFlight` counts the request that got it. */
export function afterOverload(limit: Limit, inFlight: number): Limit {
  return { ...limit, cap: lowered(limit, inFlight, retreat) };
}

function lowered(limit: Limit, inFlight: number, by: number): number {
  return Math.max(1, Math.floor(used(limit, inFlight) * by));
}

/** A cap that nothing has come near says little: what is lowered is what was in use. */
function used({ cap }: Limit, inFlight: number): number {
  return Math.max(1, Math.min(cap, inFlight));
}
