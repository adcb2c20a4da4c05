import type { Dtype } from "../array.ts";
import { constant, fill, scalar } from "../graph.ts";
import { binary } from "./elementwise.ts";
import { type KernelTable, kernel, refuse } from "./kernel.ts";

/** Kernels that make numbers from attributes alone: constants of the graph. */
export const creators: KernelTable = {
  Fill: kernel<{ shape: number[]; value: number; dtype?: Dtype }>("", (_, __, a) =>
    typeof a.value === "number" || typeof a.value === "boolean"
      ? fill(Number(a.value), a.shape, a.dtype ?? "float32")
      : refuse("fill with something that is not a number", typeof a.value),
  ),
  Range: kernel<{ start: number; stop: number; step: number; dtype: Dtype }>("", (_, __, a) => {
    const length = Math.max(0, Math.ceil((a.stop - a.start) / a.step));
    const numbers = Array.from({ length }, (___, i) => a.start + i * a.step);
    const data = a.dtype === "int32" ? Int32Array.from(numbers) : Float32Array.from(numbers);
    return constant(data, [length], a.dtype);
  }),
  LinSpace: kernel<{ start: number; stop: number; num: number }>("", (_, __, { start, stop, num }) => {
    const step = num > 1 ? (stop - start) / (num - 1) : 0;
    return constant(
      Float32Array.from({ length: num }, (___, i) => start + i * step),
      [num],
      "float32",
    );
  }),
  OneHot: kernel<{ depth: number; onValue: number; offValue: number; dtype: Dtype }>(
    "indices",
    (g, [ids], a) => {
      const places = constant(
        Int32Array.from({ length: a.depth }, (_, i) => i),
        [a.depth],
        "int32",
      );
      const column = g.reshape(g.cast(ids, "int32"), [...ids.shape, 1]);
      const hit = binary(g, "Equal", column, places, "bool");
      if (a.onValue === 1 && a.offValue === 0) return g.cast(hit, a.dtype);
      return g.op("Where", [hit, scalar(a.onValue, a.dtype), scalar(a.offValue, a.dtype)], {
        shape: hit.shape,
        dtype: a.dtype,
      });
    },
  ),
};
