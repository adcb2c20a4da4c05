import type { Graph, Value } from "../graph.ts";
import { broadcast, sizeOf } from "../shapes.ts";
import { type KernelTable, kernel, refuse } from "./kernel.ts";

/** [..., M, K] × [..., K, N]; either side may be read transposed without a copy. */
function matMul(g: Graph, a: Value, b: Value, transA: boolean, transB: boolean): Value {
  const rows = a.shape.at(transA ? -1 : -2) as number;
  const columns = b.shape.at(transB ? -2 : -1) as number;
  const [ka, kb] = [a.shape.at(transA ? -2 : -1), b.shape.at(transB ? -1 : -2)];
  const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  if (ka !== kb || !batch) return refuse("matMul shapes do not fit", `[${a.shape}] and [${b.shape}]`);
  const attrs = { transA: Number(transA), transB: Number(transB) };
  const fused = (x: Value, y: Value, shape: readonly number[]) =>
    g.op("FusedMatMul", [x, y], { shape, dtype: "float32", attrs, domain: "com.microsoft" });
  // tfjs makes every product batched; one batch is an ordinary matrix product.
  if (sizeOf(batch) === 1) {
    const flat = (x: Value) => g.reshape(x, x.shape.slice(-2));
    return g.reshape(fused(flat(a), flat(b), [rows, columns]), [...batch, rows, columns]);
  }
  return fused(a, b, [...batch, rows, columns]);
}

export const products: KernelTable = {
  BatchMatMul: kernel<{ transposeA: boolean; transposeB: boolean }>("a b", (g, [a, b], attrs) =>
    matMul(g, g.cast(a, "float32"), g.cast(b, "float32"), attrs.transposeA, attrs.transposeB),
  ),
};
