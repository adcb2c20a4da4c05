/** Calls `run` after so many milliseconds; what it returns calls it off. Injected, so that tests own the time. */
export type After = (milliseconds: number, run: () => void) => () => void;

/** The real one. It does not keep the process alive: a fleet at rest is no reason to go on. */
export const after: After = (milliseconds, run) => {
  const timer = setTimeout(run, milliseconds);
  timer.unref();
  return () => clearTimeout(timer);
};

/** Keeps the process alive until called off: for what a caller waits for while nothing but our timers is left. */
export function awake(): () => void {
  const timer = setInterval(() => {}, 2 ** 31 - 1);
  return () => clearInterval(timer);
}

/** The promise, or the signal's reason as soon as it aborts, whether or not the promise ever settles. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** true once the time is over, false as soon as the signal aborts. */
export function pause(wait: After, milliseconds: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const abort = () => {
      cancel();
      resolve(false);
    };
    const cancel = wait(milliseconds, () => {
      signal.removeEventListener("abort", abort);
      resolve(true);
    });
    signal.addEventListener("abort", abort, { once: true });
  });
}
