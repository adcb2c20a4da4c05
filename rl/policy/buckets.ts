/**
 * Programs are compiled once per shape, so sizes are rounded up to a few values. Ascending. Never one row: ONNX Runtime
 * multiplies a lone row by another kernel, whose sums are not the trainer's to the bit.
 */
export const rowBuckets: readonly number[] = [
  2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
];

/** Rows of a prefill call: fewer, because each also comes with several lengths. */
export const prefillRowBuckets: readonly number[] = [1, 4, 16, 32, 64, 128];

export const mostRows = rowBuckets.at(-1) as number;

/** New tokens of a prefill call, more than one for the same reason. Longer extensions go in several calls. */
export const lengthBuckets: readonly number[] = [8, 16, 32, 48, 64, 96, 128, 192, 256];

/** Most tokens (rows × length) of one prefill call: more gains no speed and costs memory. */
export const prefillTokens = 2048;

/** The smallest bucket that holds n; the largest one when none does. */
export function bucketUp(buckets: readonly number[], n: number): number {
  return buckets.find((size) => size >= n) ?? (buckets.at(-1) as number);
}

/** The largest bucket that n fills. */
export function bucketDown(buckets: readonly number[], n: number): number {
  return buckets.findLast((size) => size <= n) ?? (buckets[0] as number);
}

/** Slots of a key-value cache for n positions: steps of a quarter of a power of two, at least 32. */
export function slotBucket(n: number): number {
  const step = Math.max(32, 2 ** Math.floor(Math.log2(Math.max(1, n - 1))) / 4);
  return Math.max(step, Math.ceil(n / step) * step);
}
