import type { BatchContext } from "./batch-context.ts";
import { bucketDown, bucketUp, lengthBuckets, prefillRowBuckets, prefillTokens } from "./buckets.ts";
import type { LogitsRow } from "./sample-token.ts";
import { chunkOf, type SamplingRow } from "./sampling-row.ts";

const longest = lengthBuckets.at(-1) as number;

/**
 * Computes every row's pending tokens and returns the logits after the last of each. Rows come with the most
 * pending tokens first, so each call takes a run of like length, in place: a view of the cache, not a copy.
 * `capacity` is how many rows the cache has room for.
 */
export async function prefill(
  rows: readonly SamplingRow[],
  capacity: number,
  { forward, weights, arena, config, signal }: BatchContext,
): Promise<LogitsRow[]> {
  const logits = new Array<LogitsRow>(rows.length);
  // Every round takes one chunk of each open row; the order by length stays, so open rows stay in front.
  for (;;) {
    const done = rows.findIndex((row) => row.pending.length === 0);
    const open = done < 0 ? rows.length : done;
    if (open === 0) return logits;
    for (let from = 0; from < open; ) {
      signal?.throwIfAborted();
      const { length, count } = nextCall(rows, from, { open, capacity });
      const part = rows.slice(from, Math.min(open, from + count));
      const chunks = part.map((row) => chunkOf(row, length));
      const fresh = chunks.every((chunk) => chunk.at === 0);
      const caches = fresh ? [] : arena.view(from, count);
      const { logits: out, keys, values } = await forward(weights, chunks, { rows: count, length }, caches);
      part.forEach((row, source) => {
        const taken = chunks[source]?.tokens.length as number;
        arena.write(from + source, row.cached, taken, { keys, values, source, length });
        row.cached += taken;
        row.pending = row.pending.slice(taken);
        if (row.pending.length > 0) return;
        const data = out.data as Float32Array;
        logits[from + source] = { logits: data, offset: source * config.vocabSize, size: config.vocabSize };
      });
      from += part.length;
    }
  }
}

/** T and B of the call that starts at row `from`: as many rows as share its length bucket, rounded up. */
function nextCall(
  rows: readonly SamplingRow[],
  from: number,
  { open, capacity }: { open: number; capacity: number },
): { length: number; count: number } {
  const bucketAt = (row: number) =>
    bucketUp(lengthBuckets, Math.min(longest, (rows[row] as SamplingRow).pending.length));
  const length = bucketAt(from);
  let alike = 1;
  while (from + alike < open && bucketAt(from + alike) === length) alike++;
  const wanted = bucketUp(prefillRowBuckets, alike);
  const most = Math.min(Math.max(1, Math.floor(prefillTokens / length)), capacity - from);
  return { length, count: wanted <= most ? wanted : bucketDown(prefillRowBuckets, most) };
}
