import { orAborted } from "./timers.ts";

/** Runs works one after the other, in the order they were asked for. */
export interface Mutex {
  /** Rejects with the signal's reason when it aborts before the work has begun; the work sees to itself after that. */
  alone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function mutex(): Mutex {
  let last: Promise<void> = Promise.resolve();
  return {
    async alone(signal, work) {
      const before = last;
      let done = () => {};
      const mine = new Promise<void>((resolve) => {
        done = resolve;
      });
      last = before.then(() => mine);
      try {
        await orAborted(before, signal);
        return await work();
      } finally {
        done();
      }
    },
  };
}
