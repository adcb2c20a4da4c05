/** Conversions between 16-bit floats and float32. Source: IEEE 754-2008 (binary16); bfloat16 is float32's upper half. */

/** bfloat16 bits → float32, exactly. */
export function fromBfloat16(bits: Uint16Array, into: Float32Array, at = 0): void {
  const words = new Uint32Array(into.buffer, into.byteOffset, into.length);
  for (let i = 0; i < bits.length; i++) words[at + i] = (bits[i] as number) << 16;
}

/** float32 → bfloat16 bits, to nearest, ties to even; NaN stays NaN. */
export function toBfloat16(values: Float32Array): Uint16Array {
  const out = new Uint16Array(values.length);
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as number;
    const nan = (word & 0x7fffffff) > 0x7f800000;
    out[i] = nan ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return out;
}

let halves: Float32Array | undefined;

/** binary16 bits → float32, exactly, through a table of all 65,536 values. */
export function fromFloat16(bits: Uint16Array, into: Float32Array, at = 0): void {
  halves ??= Float32Array.from({ length: 65_536 }, (_, i) => halfToFloat(i));
  for (let i = 0; i < bits.length; i++) into[at + i] = halves[bits[i] as number] as number;
}

function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent < 31) return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  if (fraction) return Number.NaN;
  return sign * Number.POSITIVE_INFINITY;
}
