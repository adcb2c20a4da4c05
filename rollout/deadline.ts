/** setTimeout counts in 32 bits; longer is 25 days and means never. */
const longest = 2 ** 31 - 1;

/** A time limit that can stand still, so that waiting for others is not held against an episode. */
export class Deadline {
  readonly #expire: () => void;
  #left: number;
  #paused = 0;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `milliseconds` 0 is no limit. */
  constructor(milliseconds: number, expire: () => void) {
    this.#left = milliseconds;
    this.#expire = expire;
    this.#start();
  }

  /** Stands still until as many `resume`s as `pause`s. */
  pause(): void {
    if (this.#paused++ > 0 || this.#timer === undefined) return;
    this.#left = Math.max(1, this.#left - (performance.now() - this.#since));
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  resume(): void {
    if (--this.#paused === 0) this.#start();
  }

  /** The episode is over: nothing expires any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#left = 0;
  }

  #start(): void {
    if (this.#left <= 0 || this.#left > longest) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#expire, this.#left);
  }
}
