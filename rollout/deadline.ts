/** setTimeout counts in 32 bits; longer is 25 days and means never. */
const longest = 2 ** 31 - 1;

/**
 * A time limit that can stand still, so that waiting for others is not held against an episode.
 * One timer for all of it: when it rings, the time that stood still is waited for once more.
 */
export class Deadline {
  readonly #expire: () => void;
  /** When it is over, on the clock of performance.now, if it never stands still again. */
  #end: number;
  #paused = 0;
  #pausedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `milliseconds` 0 is no limit. */
  constructor(milliseconds: number, expire: () => void) {
    this.#expire = expire;
    const limited = milliseconds > 0 && milliseconds <= longest;
    this.#end = limited ? performance.now() + milliseconds : Number.POSITIVE_INFINITY;
    if (limited) this.#wait();
  }

  /** Stands still until as many `resume`s as `pause`s. */
  pause(): void {
    if (this.#paused++ === 0) this.#pausedAt = performance.now();
  }

  resume(): void {
    if (--this.#paused > 0) return;
    this.#end += performance.now() - this.#pausedAt;
    // It rang while it stood still.
    if (this.#timer === undefined && this.#end < Number.POSITIVE_INFINITY) this.#wait();
  }

  /** The episode is over: nothing expires any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#end = Number.POSITIVE_INFINITY;
  }

  #wait(): void {
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (this.#paused > 0) return;
        if (performance.now() >= this.#end) this.#expire();
        else this.#wait();
      },
      Math.max(1, Math.ceil(this.#end - performance.now())),
    );
  }
}
