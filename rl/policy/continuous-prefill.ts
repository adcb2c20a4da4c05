import { bucketDown, bucketUp, lengthBuckets, prefillRowBuckets, slotBucket } from "./buckets.ts";
import { chunkOf, headroom, type Lane, type LaneContext, type LaneRow, linesOf } from "./continuous-lane.ts";
import type { OpenRequest } from "./continuous-request.ts";
import { KvArena } from "./kv-arena.ts";

const longest = lengthBuckets.at(-1) as number;
/** Waiting texts that are looked at for one call. */
const window = 64;

interface Text {
  readonly text: readonly number[];
  members: OpenRequest[];
}

/**
 * The texts of one lane whose keys and values are not computed yet, in order of arrival. They are computed in an
 * arena of their own, one bounded call at a time, so that a lane's rows can decode in between. Requests with equal
 * texts share one computation; what a kept or a live text has in common with a new one is copied.
 */
export class LanePrefill {
  readonly #lane: Lane;
  readonly #context: LaneContext;
  readonly #arena: KvArena;
  #waiting: Text[] = [];
  /** Being computed: rows 0 … of the arena, of like length, so that all end with the same call. */
  #job: LaneRow[] = [];
  #scratch = new Float32Array(0);

  constructor(lane: Lane, context: LaneContext) {
    this.#lane = lane;
    this.#context = context;
    this.#arena = new KvArena(context.config);
  }

  get empty(): boolean {
    return this.#job.length === 0 && this.#waiting.length === 0;
  }

  /** Arrival of the request that comes next. */
  get first(): number {
    return this.#requests[0]?.order ?? Number.POSITIVE_INFINITY;
  }

  /** Tokens of the longest text. */
  get longest(): number {
    return this.#requests.reduce((most, { text }) => Math.max(most, text.length), 0);
  }

  get #requests(): OpenRequest[] {
    return [...this.#job, ...this.#waiting].flatMap(({ members }) => members);
  }

  add(request: OpenRequest): void {
    const same = [...this.#job, ...this.#waiting].find(({ members }) => alike(members[0], request));
    if (same) same.members.push(request);
    else this.#waiting.push({ text: request.text, members: [request] });
  }

  /** Lets go of requests that nobody waits for, and of texts that nobody has asked for any more. */
  sweep(): void {
    const live = ({ settled }: OpenRequest) => !settled;
    for (const each of [...this.#job, ...this.#waiting]) each.members = each.members.filter(live);
    this.#waiting = this.#waiting.filter(({ members }) => members.length > 0);
    if (this.#job.every(({ members }) => members.length === 0)) this.#job = [];
  }

  drop(): OpenRequest[] {
    const all = this.#requests;
    this.#job = [];
    this.#waiting = [];
    return all;
  }

  /** Takes a request out; false when it is not here. */
  evict(request: OpenRequest): boolean {
    const each = [...this.#job, ...this.#waiting].find(({ members }) => members.includes(request));
    if (!each) return false;
    each.members = each.members.filter((member) => member !== request);
    this.sweep();
    return true;
  }

  /** One call of at most `budget` tokens (one row of the shortest length at least). Resolves to the tokens it took. */
  async step(budget: number): Promise<number> {
    if (this.#job.length === 0) this.#open(budget);
    const job = this.#job;
    if (job.length === 0) return 0;
    const { version } = this.#lane;
    const length = lengthOf(job[0] as LaneRow, budget);
    const count = bucketUp(prefillRowBuckets, job.length);
    const chunks = job.map((row) => chunkOf(row, length));
    const caches = chunks.every(({ at }) => at === 0) ? [] : this.#arena.view(0, count);
    const { logits, keys, values } = await version.forward(
      version.weights,
      chunks,
      { rows: count, length },
      caches,
    );
    job.forEach((row, source) => {
      const taken = chunks[source]?.tokens.length as number;
      this.#arena.write(source, row.cached, taken, { keys, values, source, length });
      row.cached += taken;
      row.pending = row.pending.slice(taken);
    });
    if (job.every(({ pending }) => pending.length === 0)) {
      const lines = await linesOf(logits, job.length, this.#context);
      this.#job = [];
      this.#lane.take(job, this.#arena, lines);
    }
    return count * length;
  }

  /** The next texts become rows: the first to come, and those after it that fit into the same single call. */
  #open(budget: number): void {
    const [head, ...others] = this.#waiting.slice(0, window);
    if (!head) return;
    const first = this.#rowOf(head);
    const length = lengthOf(first.row, budget);
    const opened = [first];
    if (first.row.pending.length <= length) {
      const most = Math.max(1, Math.floor(budget / length));
      for (const other of others) {
        if (opened.length === most) break;
        const next = this.#rowOf(other);
        if (next.row.pending.length <= length && lengthOf(next.row, budget) === length) opened.push(next);
      }
      const whole = bucketUp(prefillRowBuckets, opened.length);
      // Padding rows are computed too: rather two calls than one that is mostly padding.
      if (whole > most || whole > 2 * opened.length)
        opened.length = bucketDown(prefillRowBuckets, opened.length);
    }
    const taken = new Set(opened.map(({ from }) => from));
    this.#waiting = this.#waiting.filter((each) => !taken.has(each));
    const slots = opened.reduce((most, { row }) => Math.max(most, row.cached + row.pending.length), 0);
    this.#arena.reset(bucketUp(prefillRowBuckets, opened.length), slotBucket(slots + headroom));
    opened.forEach(({ load, row }, at) => {
      load?.(at);
      this.#context.copied(row.cached);
    });
    this.#job = opened.map(({ row }) => row);
  }

  /** A waiting text as a row, and how what is known of it gets into the arena. */
  #rowOf(from: Text): { from: Text; row: LaneRow; load: ((row: number) => void) | undefined } {
    const { text, members } = from;
    const kept = this.#context.store.longest(this.#lane.version, text);
    const live = this.#lane.shared(text);
    // The last token is always computed: its logits are what we came for.
    const known = (shared: number | undefined) => Math.min(shared ?? 0, text.length - 1);
    const cached = Math.max(known(kept?.shared), known(live?.shared));
    const row = { members, cached, pending: text.slice(cached) };
    if (cached === 0) return { from, row, load: undefined };
    if (kept && known(kept.shared) === cached)
      return {
        from,
        row,
        load: (at) => this.#arena.load(at, kept.kept.packed, kept.kept.tokens.length, cached),
      };
    return { from, row, load: (at) => this.#copy(live?.row as number, at, cached) };
  }

  #copy(from: number, to: number, length: number): void {
    const size = length * this.#arena.perPosition;
    if (this.#scratch.length < size) this.#scratch = new Float32Array(Math.ceil(1.25 * size));
    this.#lane.arena.save(from, length, this.#scratch);
    this.#arena.load(to, this.#scratch, length, length);
  }
}

/** T of a call for this row: its pending tokens rounded up, or as much as the budget and the buckets allow. */
function lengthOf({ pending }: LaneRow, budget: number): number {
  const most = bucketDown(lengthBuckets, Math.min(budget, longest));
  return bucketUp(lengthBuckets, Math.min(most, pending.length));
}

/** Whether two requests can share one computation. */
function alike(a: OpenRequest | undefined, b: OpenRequest): boolean {
  if (a?.temperature !== b.temperature || a.text.length !== b.text.length) return false;
  return a.text.every((token, i) => token === b.text[i]);
}
