import { slotBucket } from "./buckets.ts";
import { cacheSize, headroom, type Lane } from "./continuous-lane.ts";
import type { LanePrefill } from "./continuous-prefill.ts";
import type { OpenRequest } from "./continuous-request.ts";

/** What is under way of one version. */
export interface Entry {
  readonly lane: Lane;
  readonly prefill: LanePrefill;
  readonly requests: Set<OpenRequest>;
}

/** Positions a waiting request must have room to grow by, so that what was just let in is not sent back at once. */
const slack = 64;

/** The memory for keys and values of requests under way. Each counts as a row of its own, as long as the longest. */
export class KvBudget {
  readonly #numbers: number;
  readonly #perPosition: number;

  /** @param perPosition numbers that one position of one row takes */
  constructor(bytes: number, perPosition: number) {
    this.#numbers = bytes / 4;
    this.#perPosition = perPosition;
  }

  /** Whether the requests need more than there is. */
  exceeded(entries: Iterable<Entry>): boolean {
    return this.#reserved(entries) > this.#numbers;
  }

  /** Whether `next` has room beside all others; `own` is the entry it would join. */
  fits(next: OpenRequest, own: Entry | undefined, entries: Iterable<Entry>): boolean {
    const slots = Math.max(slotBucket(next.text.length + slack), own ? slotsOf(own) : 0);
    const joined = cacheSize((own?.requests.size ?? 0) + 1, slots, this.#perPosition);
    return this.#reserved(entries) - (own ? this.#sizeOf(own) : 0) + joined <= this.#numbers;
  }

  /** Share that holds keys and values, [0, 1]. */
  usage(entries: Iterable<Entry>): number {
    let positions = 0;
    for (const { lane } of entries) for (const { cached } of lane.rows) positions += cached;
    return this.#numbers > 0 ? Math.min(1, (positions * this.#perPosition) / this.#numbers) : 1;
  }

  #reserved(entries: Iterable<Entry>): number {
    let sum = 0;
    for (const entry of entries) sum += this.#sizeOf(entry);
    return sum;
  }

  #sizeOf(entry: Entry): number {
    return cacheSize(entry.requests.size, slotsOf(entry), this.#perPosition);
  }
}

/** Slots that every row of an entry will have. */
function slotsOf({ lane, prefill }: Entry): number {
  return Math.max(lane.needed, prefill.empty ? 0 : slotBucket(prefill.longest + 1 + headroom));
}
