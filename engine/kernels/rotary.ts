import { int64s } from "../graph.ts";
import { type KernelTable, kernel } from "./kernel.ts";

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

export const rotations: KernelTable = {
  /**
   * Our own: heads x [B, T, H·hd] turned by angles cos and sin [T, hd/2] of each position, or [B·T, hd/2] of each row's
   * own. One pass in place of six.
   */
  RotateHeads: kernel<{ heads: number }>("x cos sin", (g, [x, cos, sin], { heads }) => {
    const [rows, length] = x.shape as [number, number];
    const shared = cos.shape[0] === length;
    const places = shared ? int64s([0]) : g.reshape(int64s(range(rows * length)), [rows, length]);
    return g.op("RotaryEmbedding", [x, places, cos, sin], {
      ...{ shape: x.shape, dtype: "float32", domain: "com.microsoft" },
      attrs: { interleaved: 0, num_heads: heads },
    });
  }),
};
