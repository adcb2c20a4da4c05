import { awake } from "./timers.ts";

export interface WaitingLine<P, S> {
  /** Waits for a seat. Rejects with the signal's reason when it aborts first. */
  enter(place: P, signal: AbortSignal): Promise<S>;
  /** Something has changed: seats whoever can be seated now, in the order they came. */
  advance(): void;
  /** All who wait are turned away, and whoever comes later. */
  close(error: Error): void;
}

interface Waiting<P, S> {
  readonly place: P;
  readonly seated: (seat: S) => void;
  readonly turnedAway: (reason: unknown) => void;
}

/**
 * First come, first served, each for the seats that it may take: who can only be seated where all is full holds nobody
 * up who can sit elsewhere, and nobody takes a seat that one before him could have had.
 */
export function waitingLine<P, S>(o: {
  /** Takes a seat now, or undefined. */
  readonly seat: (place: P) => S | undefined;
  /** Is there a free seat at all? Spares a walk along the line. */
  readonly anyRoom: () => boolean;
}): WaitingLine<P, S> {
  const line = new Set<Waiting<P, S>>();
  let closed: Error | undefined;
  const advance = () => {
    for (const each of line) {
      if (!o.anyRoom()) return;
      const seat = o.seat(each.place);
      if (seat !== undefined) each.seated(seat);
    }
  };
  return {
    enter(place, signal) {
      if (closed !== undefined) return Promise.reject(closed);
      if (signal.aborted) return Promise.reject(signal.reason);
      const seat = line.size === 0 && o.anyRoom() ? o.seat(place) : undefined;
      if (seat !== undefined) return Promise.resolve(seat);
      return new Promise<S>((resolve, reject) => {
        const rest = awake();
        const leave = () => {
          line.delete(waiting);
          signal.removeEventListener("abort", abort);
          rest();
        };
        const abort = () => waiting.turnedAway(signal.reason);
        const waiting: Waiting<P, S> = {
          place,
          seated(seat) {
            leave();
            resolve(seat);
          },
          turnedAway(reason) {
            leave();
            reject(reason);
          },
        };
        signal.addEventListener("abort", abort, { once: true });
        line.add(waiting);
        advance();
      });
    },
    advance,
    close(error) {
      closed = error;
      for (const each of line) each.turnedAway(error);
    },
  };
}
