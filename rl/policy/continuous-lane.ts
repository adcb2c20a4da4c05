import type { Arr } from "../../engine/array.ts";
import type { Finish } from "../../env/environment.ts";
import { bucketUp, rowBuckets, slotBucket } from "./buckets.ts";
import type { LogitsLine, OpenRequest } from "./continuous-request.ts";
import type { Chunk } from "./forward-call.ts";
import { KvArena } from "./kv-arena.ts";
import type { ModelConfig } from "./model-config.ts";
import type { PolicyVersion } from "./policy-version.ts";
import type { PrefixStore } from "./prefix-store.ts";
import type { SumRows } from "./row-sums.ts";

/**
 * One text in the cache and the requests that have it, at one temperature; they share its passes and part where they
 * draw unlike tokens.
 */
export interface LaneRow {
  members: OpenRequest[];
  /** Positions whose keys and values are in the cache. */
  cached: number;
  /** Tokens to compute next. */
  pending: readonly number[];
}

export interface LaneContext {
  readonly config: ModelConfig;
  readonly sumRows: SumRows;
  readonly store: PrefixStore;
  /** Told of every request that ends by itself. */
  readonly answer: (request: OpenRequest, finish: Finish) => void;
  readonly fail: (request: OpenRequest, error: unknown) => void;
  /** Told of each drawn token. */
  readonly drawn: () => void;
  /** Told how many tokens of a text were copied instead of computed. */
  readonly copied: (tokens: number) => void;
  /** Whether finished texts of the version may be asked for again. */
  readonly keeps: (version: PolicyVersion) => boolean;
}

/** Slots to spare beyond the longest row, so that the next tokens do not move the whole cache. */
export const headroom = 16;

/** Rows of a decode step. A lone row stays alone: ONNX Runtime reads the weights half as often for it. */
export const decodeRows = (rows: number): number => (rows <= 1 ? 1 : bucketUp(rowBuckets, rows));

/** The first `length` pending tokens of a row, for the forward call. */
export function chunkOf({ members, pending, cached }: LaneRow, length: number): Chunk {
  const temperature = members[0]?.temperature ?? 1;
  return { tokens: pending.slice(0, length), at: cached, temperature };
}

/** The first `count` rows of a call's logits. */
export async function linesOf(
  logits: Arr,
  count: number,
  { config, sumRows }: LaneContext,
): Promise<LogitsLine[]> {
  const sums = await sumRows(logits);
  const size = config.vocabSize;
  const data = logits.data as Float32Array;
  return Array.from({ length: count }, (_, i) => ({ logits: data, offset: i * size, size, sums }));
}

/** Numbers of a cache of `rows` sequences of `slots` positions, rows rounded up as a decode step wants them. */
export const cacheSize = (rows: number, slots: number, perPosition: number): number =>
  rows === 0 ? 0 : decodeRows(rows) * slots * perPosition;

/**
 * The rows of one policy version that are being decoded: a forward pass needs one set of weights for all its rows.
 * Rows stay contiguous in the arena; finished ones leave at once and the last rows move into the gaps.
 */
export class Lane {
  readonly version: PolicyVersion;
  readonly rows: LaneRow[] = [];
  readonly #context: LaneContext;
  #arena: KvArena;
  #capacity = 0;
  #scratch = new Float32Array(0);

  constructor(version: PolicyVersion, context: LaneContext, arena: KvArena) {
    this.version = version;
    this.#context = context;
    this.#arena = arena;
  }

  get arena(): KvArena {
    return this.#arena;
  }

  /** Slots that the rows have, or 0 without any. */
  get slots(): number {
    return this.rows.length === 0 ? 0 : this.#arena.slots;
  }

  /** Slots that the next decode step needs. */
  get needed(): number {
    const longest = this.rows.reduce((most, row) => Math.max(most, row.cached), 0);
    return longest < this.slots ? this.slots : slotBucket(longest + 1 + headroom);
  }

  /** Rows that were just computed, out of the arena they were computed in: their first tokens are drawn. */
  take(fresh: readonly LaneRow[], from: KvArena, logits: readonly LogitsLine[]): void {
    const first = this.rows.length;
    const longest = fresh.reduce((most, row) => Math.max(most, row.cached), 0);
    this.#reserve(first + fresh.length, longest);
    fresh.forEach((row, i) => {
      const size = row.cached * this.#arena.perPosition;
      if (this.#scratch.length < size) this.#scratch = new Float32Array(Math.ceil(1.25 * size));
      from.save(i, row.cached, this.#scratch);
      this.#arena.load(first + i, this.#scratch, row.cached, row.cached);
    });
    this.rows.push(...fresh);
    this.#draw(first, logits);
  }

  /** One token for every row. */
  async decode(): Promise<void> {
    const { rows, version } = this;
    if (rows.length === 0) return;
    this.#reserve(
      rows.length,
      rows.reduce((most, row) => Math.max(most, row.cached), 0),
    );
    const count = decodeRows(rows.length);
    const chunks = rows.map((row) => chunkOf(row, 1));
    const shape = { rows: count, length: 1 };
    const { logits, keys, values } = await version.forward(
      version.weights,
      chunks,
      shape,
      this.#arena.view(0, count),
    );
    rows.forEach((row, source) => {
      this.#arena.write(source, row.cached, 1, { keys, values, source, length: 1 });
      row.cached++;
    });
    this.#draw(0, await linesOf(logits, rows.length, this.#context));
  }

  /** The live row that shares most leading tokens with `text`, up to what it has cached. */
  shared(text: readonly number[]): { readonly row: number; readonly shared: number } | undefined {
    let best: { row: number; shared: number } | undefined;
    this.rows.forEach(({ members, cached }, row) => {
      const own = (members[0] as OpenRequest).text;
      let shared = 0;
      const most = Math.min(cached, text.length);
      while (shared < most && own[shared] === text[shared]) shared++;
      if (shared > (best?.shared ?? 0)) best = { row, shared };
    });
    return best;
  }

  /** Takes a request out of its row, its keys and values kept where the store has room. */
  evict(request: OpenRequest): boolean {
    const at = this.rows.findIndex(({ members }) => members.includes(request));
    if (at < 0) return false;
    const row = this.rows[at] as LaneRow;
    this.#keep(request, at);
    row.members = row.members.filter((member) => member !== request);
    this.#close([]);
    return true;
  }

  /** Lets go of requests that nobody waits for. */
  sweep(): void {
    for (const row of this.rows) row.members = row.members.filter(({ settled }) => !settled);
    this.#close([]);
  }

  /** Every row is lost: the forward pass failed. */
  drop(): OpenRequest[] {
    return this.rows.splice(0).flatMap(({ members }) => members);
  }

  /** Draws a token for the requests of the rows from `first` on. */
  #draw(first: number, logits: readonly LogitsLine[]): void {
    const forks: { from: number; row: LaneRow }[] = [];
    logits.forEach((line, i) => {
      const at = first + i;
      const row = this.rows[at] as LaneRow;
      const byToken = new Map<number, OpenRequest[]>();
      for (const member of row.members) {
        if (member.settled || this.#drawOne(member, line, at)) continue;
        const token = member.text.at(-1) as number;
        const same = byToken.get(token);
        if (same) same.push(member);
        else byToken.set(token, [member]);
      }
      const [stay, ...part] = byToken;
      row.members = stay?.[1] ?? [];
      row.pending = stay ? [stay[0]] : [];
      for (const [token, members] of part)
        forks.push({ from: at, row: { members, cached: row.cached, pending: [token] } });
    });
    this.#close(forks);
    this.#shrink();
  }

  /** True when it was the request's last token. */
  #drawOne(request: OpenRequest, line: LogitsLine, at: number): boolean {
    const { answer, fail, drawn } = this.#context;
    try {
      const finish = request.draw(line);
      drawn();
      if (finish === undefined) return false;
      // A text that fills the context has nothing after it.
      if (finish !== "context") this.#keep(request, at);
      answer(request, finish);
    } catch (error) {
      fail(request, error);
    }
    return true;
  }

  /** Rows that part are added, rows without requests leave, the last ones move into the gaps. */
  #close(forks: readonly { readonly from: number; readonly row: LaneRow }[]): void {
    const { rows } = this;
    const gaps = rows.flatMap((row, at) => (row.members.length === 0 ? [at] : []));
    const added = Math.max(0, forks.length - gaps.length);
    if (added > 0) this.#reserve(rows.length + added, 0);
    for (const { from, row } of forks) {
      const to = gaps.shift() ?? rows.length;
      this.#arena.copyRow(from, to);
      rows[to] = row;
    }
    for (const gap of gaps.reverse()) {
      const last = rows.length - 1;
      this.#arena.copyRow(last, gap);
      rows[gap] = rows[last] as LaneRow;
      rows.pop();
    }
  }

  #keep(request: OpenRequest, at: number): void {
    const { store, keeps } = this.#context;
    if (!keeps(this.version)) return;
    const { cached } = this.rows[at] as LaneRow;
    const size = slotBucket(cached) * this.#arena.perPosition;
    const save = (into: Float32Array) => this.#arena.save(at, cached, into);
    store.add(this.version, request.text.slice(0, cached), { size, save });
  }

  /** Room for `rows` rows of `cached` positions and one more each. */
  #reserve(rows: number, cached: number): void {
    const capacity = decodeRows(rows);
    if (this.rows.length === 0) {
      this.#capacity = capacity;
      this.#arena.reset(capacity, slotBucket(cached + 1 + headroom));
      return;
    }
    const { slots } = this.#arena;
    if (cached < slots && capacity <= this.#capacity) return;
    this.#capacity = capacity;
    this.#arena.grow(this.rows.length, cached < slots ? slots : slotBucket(cached + 1 + headroom), capacity);
  }

  /** A cache that the longest rows have left is made smaller: every step reads all of it. */
  #shrink(): void {
    const { rows } = this;
    if (rows.length === 0) return;
    const longest = rows.reduce((most, row) => Math.max(most, row.cached), 0);
    const slots = slotBucket(longest + 1 + headroom);
    if (2 * slots > this.#arena.slots) return;
    const old = this.#arena;
    this.#arena = new KvArena(this.#context.config);
    this.#capacity = decodeRows(rows.length);
    this.#arena.reset(this.#capacity, slots);
    const scratch = new Float32Array(longest * old.perPosition);
    rows.forEach(({ cached }, row) => {
      old.save(row, cached, scratch);
      this.#arena.load(row, scratch, cached, cached);
    });
  }
}
