import { setMaxListeners } from "node:events";

/** setTimeout counts in 32 bits; longer is 25 days and means never. */
const longest = 2 ** 31 - 1;

/** A signal under another one: it ends with the other, may end before it, and leaves no listener or timer behind. */
export class Leash {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #follow: () => void;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(outer?: AbortSignal) {
    this.#outer = outer;
    this.#follow = () => this.#controller.abort(outer?.reason);
    if (outer?.aborted) this.#follow();
    else if (outer !== undefined) {
      setMaxListeners(0, outer); // Many at a time are no leak: each is taken off again.
      outer.addEventListener("abort", this.#follow, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends it with a reason of its own. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Ends it after so many milliseconds; 0 is no limit. */
  deadline(milliseconds: number, reason: () => unknown): void {
    if (milliseconds <= 0 || milliseconds > longest) return;
    this.#timers.push(setTimeout(() => this.#controller.abort(reason()), milliseconds));
  }

  /** The work is over. */
  release(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#outer?.removeEventListener("abort", this.#follow);
  }
}
