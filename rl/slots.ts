/** Room for so many pieces of work at a time; who waits with the lowest number goes first, of equals who came first. */
export interface Slots {
  /** An aborted signal ends the wait: the work then runs at once, and is expected to see the signal and return. */
  run<T>(priority: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Waiting {
  readonly priority: number;
  readonly go: (release: () => void) => void;
}

export function createSlots(size: number): Slots {
  let free = size;
  const queue: Waiting[] = [];

  const serve = () => {
    while (free > 0 && queue.length > 0) {
      free--;
      let released = false;
      queue.shift()!.go(() => {
        if (released) return;
        released = true;
        free++;
        serve();
      });
    }
  };

  const enter = (priority: number, signal: AbortSignal | undefined) =>
    new Promise<() => void>((resolve) => {
      if (signal?.aborted) return resolve(() => {});
      const leave = () => {
        queue.splice(queue.indexOf(waiting), 1);
        resolve(() => {});
      };
      const waiting: Waiting = {
        priority,
        go(release) {
          signal?.removeEventListener("abort", leave);
          resolve(release);
        },
      };
      signal?.addEventListener("abort", leave, { once: true });
      const after = queue.findIndex((other) => other.priority > priority);
      queue.splice(after < 0 ? queue.length : after, 0, waiting);
      serve();
    });

  return {
    async run(priority, work, signal) {
      const release = await enter(priority, signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
