import { type Graph, int64s, scalar, type Value } from "../graph.ts";
import { axesOf, axisOf, sizeOf } from "../shapes.ts";
import { binary } from "./elementwise.ts";
import { type Kernel, type KernelTable, kernel } from "./kernel.ts";

interface ReduceAttrs {
  /** `Max` alone calls it reductionIndices. */
  readonly axis?: number | readonly number[];
  readonly reductionIndices?: number | readonly number[];
  readonly keepDims?: boolean;
}

function reduce(graph: Graph, op: string, x: Value, attrs: ReduceAttrs): Value {
  const axes = axesOf(attrs.axis ?? attrs.reductionIndices, x.shape.length);
  const keepdims = attrs.keepDims ? 1 : 0;
  const kept = x.shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const shape = keepdims ? kept : kept.filter((_, i) => !axes.includes(i));
  // Nothing is summed along axes of length 1: a reshape.
  if (op !== "ReduceMean" && sizeOf(shape) === sizeOf(x.shape) && sizeOf(shape) > 0)
    return graph.reshape(x, shape);
  return graph.op(op, [x, int64s(axes)], { shape, dtype: x.dtype, attrs: { keepdims } });
}

const reduction = (op: string): Kernel =>
  kernel<ReduceAttrs>("x", (g, [x], attrs) => reduce(g, op, x, attrs));

/** Over bool, through int32: ONNX has no ReduceAny. */
const boolean = (op: string): Kernel =>
  kernel<ReduceAttrs>("x", (g, [x], attrs) => g.cast(reduce(g, op, g.cast(x, "int32"), attrs), "bool"));

const arg = (op: string): Kernel =>
  kernel<{ axis: number }>("x", (g, [x], attrs) => {
    const axis = axisOf(attrs.axis, x.shape.length);
    const shape = x.shape.filter((_, i) => i !== axis);
    const numbers = x.dtype === "bool" ? g.cast(x, "int32") : x;
    return g.cast(g.op(op, [numbers], { shape, dtype: "int64", attrs: { axis, keepdims: 0 } }), "int32");
  });

export const reductions: KernelTable = {
  Sum: reduction("ReduceSum"),
  Max: reduction("ReduceMax"),
  Min: reduction("ReduceMin"),
  Prod: reduction("ReduceProd"),
  Mean: kernel<ReduceAttrs>("x", (g, [x], attrs) => {
    const sum = reduce(g, "ReduceSum", g.cast(x, "float32"), attrs);
    return binary(g, "Mul", sum, scalar(sizeOf(sum.shape) / sizeOf(x.shape)));
  }),
  Any: boolean("ReduceMax"),
  All: boolean("ReduceMin"),
  ArgMax: arg("ArgMax"),
  ArgMin: arg("ArgMin"),
  TopK: kernel<{ k: number }>("x", (g, [x], { k }) => {
    const shape = [...x.shape.slice(0, -1), k];
    const [values, indices] = g.ops(
      "TopK",
      [x, int64s([k])],
      [
        { shape, dtype: x.dtype },
        { shape, dtype: "int64" },
      ],
      { attrs: { axis: -1, largest: 1, sorted: 1 } },
    ) as [Value, Value];
    return [values, g.cast(indices, "int32")];
  }),
};
