import type { Arr } from "../../engine/array.ts";
import type { ModelConfig } from "./model-config.ts";
import { ropeFrequencies } from "./rope.ts";

interface Table {
  readonly positions: number;
  /** [positions, headDim/2]: one angle a pair. */
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

const tables = new WeakMap<ModelConfig, Table>();

/** cos and sin of positions 0 to n - 1, each [n, headDim/2]; grown by doubling and kept per config. */
export function rotaryTable(config: ModelConfig, n: number): Table {
  const known = tables.get(config);
  if (known && known.positions >= n) return known;
  const positions = Math.max(n, 2 * (known?.positions ?? 32));
  const { inverse, scale } = ropeFrequencies(config.rope, config.headDim);
  const half = config.headDim / 2;
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let t = 0; t < positions; t++) {
    for (let i = 0; i < half; i++) {
      const angle = t * (inverse[i] as number);
      cos[t * half + i] = Math.cos(angle) * scale;
      sin[t * half + i] = Math.sin(angle) * scale;
    }
  }
  const table = { positions, cos, sin };
  tables.set(config, table);
  return table;
}

/**
 * Rows of the table for `extend`: positions [B*T] in row order, each in [0, contextTokens),
 * to cos and sin of shape [B*T, headDim/2].
 */
export function rotaryRows(
  config: ModelConfig,
  positions: ArrayLike<number>,
  [batch, length]: readonly [number, number],
): { readonly cos: Arr; readonly sin: Arr } {
  const width = config.headDim / 2;
  let last = 0;
  for (let i = 0; i < positions.length; i++) last = Math.max(last, positions[i] as number);
  const table = rotaryTable(config, last + 1);
  const cos = new Float32Array(batch * length * width);
  const sin = new Float32Array(batch * length * width);
  for (let i = 0; i < batch * length; i++) {
    const from = (positions[i] as number) * width;
    cos.set(table.cos.subarray(from, from + width), i * width);
    sin.set(table.sin.subarray(from, from + width), i * width);
  }
  const shape = [batch * length, width];
  return { cos: { shape, dtype: "float32", data: cos }, sin: { shape, dtype: "float32", data: sin } };
}
