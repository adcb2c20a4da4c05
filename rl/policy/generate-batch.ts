import type { Completion, SampleRequest } from "../../rollout/sampler.ts";
import type { BatchContext } from "./batch-context.ts";
import { bucketUp, rowBuckets, slotBucket } from "./buckets.ts";
import { commonPrefix, type Kept } from "./kv-store.ts";
import { prefill } from "./prefill.ts";
import type { LogitsRow } from "./sample-token.ts";
import { chunkOf, Member, type SamplingRow, temperatureOf } from "./sampling-row.ts";

export interface Indexed {
  readonly index: number;
  readonly request: SampleRequest;
}

export interface Answer {
  readonly index: number;
  readonly completion: Completion;
}

/** Slots to spare beyond the longest prompt, so that short turns do not move the whole cache. */
const headroom = 16;

/** Samples one completion for each request, all at once. */
export async function generateBatch(requests: readonly Indexed[], context: BatchContext): Promise<Answer[]> {
  const { arena, contextTokens, tokenizer, version } = context;
  const answers: Answer[] = [];
  const members: Member[] = [];
  for (const { index, request } of requests) {
    const member = new Member(index, request, { tokenizer, tokens: contextTokens });
    if (member.full) answers.push({ index, completion: member.completion(member.full, version) });
    else members.push(member);
  }
  if (members.length === 0) return answers;
  const capacity = bucketUp(rowBuckets, members.length);
  const rows = openRows(members, capacity, context);
  let logits = await prefill(rows, capacity, context);
  for (;;) {
    drawAll(rows, logits, context, answers);
    if (rows.length === 0) return answers;
    context.signal?.throwIfAborted();
    const needed = 1 + rows.reduce((most, row) => Math.max(most, row.cached), 0);
    if (needed > arena.slots) arena.grow(rows.length, slotBucket(needed + headroom), capacity);
    logits = await decode(rows, context);
  }
}

/** One row per distinct prompt and temperature, what its sequence already holds loaded into the cache, the most to compute first. */
function openRows(
  members: readonly Member[],
  capacity: number,
  { arena, store }: BatchContext,
): SamplingRow[] {
  const groups = new Map<string, Member[]>();
  for (const member of members) {
    const key = `${temperatureOf(member)}:${member.request.prompt.join()}`;
    const group = groups.get(key);
    if (group) group.push(member);
    else groups.set(key, [member]);
  }
  const opened = [...groups.values()].map((group) => {
    const { prompt } = (group[0] as Member).request;
    // Members with one prompt hold the same keys and values, if any: take whoever holds most.
    let best: { cached: number; kept: Kept | undefined } = { cached: 0, kept: undefined };
    for (const { request } of group) {
      const kept = store.get(request.sequence);
      // The last prompt token is always computed: its logits are what we came for.
      const cached = kept ? Math.min(commonPrefix(kept.tokens, prompt), prompt.length - 1) : 0;
      if (cached > best.cached) best = { cached, kept };
    }
    return { ...best, row: { members: group, cached: best.cached, pending: prompt.slice(best.cached) } };
  });
  opened.sort((a, b) => b.row.pending.length - a.row.pending.length);
  const longest = opened.reduce((most, { row }) => Math.max(most, row.cached + row.pending.length), 0);
  arena.reset(capacity, slotBucket(longest + headroom));
  opened.forEach(({ cached, kept }, row) => {
    if (kept) arena.load(row, kept.packed, kept.tokens.length, cached);
  });
  return opened.map(({ row }) => row);
}

/** One token for every row. */
async function decode(rows: readonly SamplingRow[], context: BatchContext): Promise<LogitsRow[]> {
  const { forward, weights, arena, config } = context;
  const count = bucketUp(rowBuckets, rows.length);
  const chunks = rows.map((row) => chunkOf(row));
  const result = await forward(weights, chunks, { rows: count, length: 1 }, arena.view(0, count));
  const logits = result.logits.data as Float32Array;
  return rows.map((row, source) => {
    arena.write(source, row.cached, 1, { keys: result.keys, values: result.values, source, length: 1 });
    row.cached++;
    return { logits, offset: source * config.vocabSize, size: config.vocabSize };
  });
}

/**
 * Draws a token for every member. Members that draw unlike tokens part into rows of their own; finished ones
 * leave, and the last rows move into the gaps, so that rows stay contiguous.
 */
function drawAll(
  rows: SamplingRow[],
  logits: readonly LogitsRow[],
  context: BatchContext,
  answers: Answer[],
): void {
  const { arena, store, version } = context;
  const forks: { from: number; row: SamplingRow }[] = [];
  rows.forEach((row, at) => {
    const byToken = new Map<number, Member[]>();
    let kept: Kept | undefined;
    for (const member of row.members) {
      const finish = member.draw(logits[at] as LogitsRow);
      if (finish) {
        answers.push({ index: member.index, completion: member.completion(finish, version) });
        // A turn that ended the text or filled the context has no next one.
        if (finish === "stop" || finish === "length") {
          kept ??= pack(member, at, row.cached, context);
          if (kept) store.put(member.request.sequence, kept);
        }
        continue;
      }
      const token = member.tokens.at(-1) as number;
      const same = byToken.get(token);
      if (same) same.push(member);
      else byToken.set(token, [member]);
    }
    row.members = [];
    for (const [token, members] of byToken) {
      if (row.members.length > 0) {
        forks.push({ from: at, row: { members, cached: row.cached, pending: [token] } });
        continue;
      }
      row.members = members;
      row.pending = [token];
    }
  });
  const gaps = rows.flatMap((row, at) => (row.members.length === 0 ? [at] : []));
  for (const { from, row } of forks) {
    const to = gaps.shift() ?? rows.length;
    arena.copyRow(from, to);
    rows[to] = row;
  }
  for (const gap of gaps.reverse()) {
    const last = rows.length - 1;
    arena.copyRow(last, gap);
    rows[gap] = rows[last] as SamplingRow;
    rows.pop();
  }
}

/** A row's keys and values for the next turn of whoever wrote it; undefined when there is no memory for them. */
function pack(member: Member, row: number, cached: number, { arena, store }: BatchContext): Kept | undefined {
  const packed = store.buffer(slotBucket(cached) * arena.perPosition);
  if (!packed) return undefined;
  arena.save(row, cached, packed);
  return { tokens: [...member.request.prompt, ...member.tokens].slice(0, cached), packed };
}
