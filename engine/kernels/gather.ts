import { type Graph, int64s, scalar, type Value } from "../graph.ts";
import { axisOf, sizeOf } from "../shapes.ts";
import { binary } from "./elementwise.ts";
import { type KernelTable, kernel, refuse } from "./kernel.ts";

/**
 * rows[numRows, ...] with `updates` [N, ...] added at `ids` [N]. ScatterElements walks its indices in order on one
 * thread, so repeated ids add up the same way every time; ScatterND with reduction=add loses updates on two threads.
 */
function addRows(g: Graph, updates: Value, ids: Value, numRows: number): Value {
  const shape = [numRows, ...updates.shape.slice(1)];
  const zeros = g.expand(scalar(0, updates.dtype), shape);
  const column = g.reshape(ids, [...ids.shape, ...updates.shape.slice(1).map(() => 1)]);
  const places = g.expand(column, updates.shape);
  return g.op("ScatterElements", [zeros, places, updates], {
    shape,
    dtype: updates.dtype,
    attrs: { axis: 0, reduction: "add" },
  });
}

/** tfjs indices [..., R] into the first R axes of `shape`, as one flat row number each. */
function flatIndices(g: Graph, indices: Value, shape: readonly number[]): Value {
  const depth = indices.shape.at(-1) as number;
  const strides = Array.from({ length: depth }, (_, i) => sizeOf(shape.slice(i + 1, depth)));
  const count = sizeOf(indices.shape.slice(0, -1));
  const table = g.reshape(indices, [count, depth]);
  const columns = strides.map((stride, i) => {
    const one = g.op("Slice", [table, int64s([i]), int64s([i + 1]), int64s([1])], {
      shape: [count, 1],
      dtype: "int32",
    });
    return binary(g, "Mul", one, scalar(stride, "int32"));
  });
  const flat = columns.slice(1).reduce((sum, c) => binary(g, "Add", sum, c), columns[0] as Value);
  return g.reshape(flat, [count]);
}

function scatter(g: Graph, into: Value, indices: Value, updates: Value, reduction: "add" | "none"): Value {
  const depth = indices.shape.at(-1) as number;
  const rest = into.shape.slice(depth);
  const rows = sizeOf(into.shape.slice(0, depth));
  const ids = flatIndices(g, indices, into.shape);
  const width = sizeOf(rest);
  const count = ids.shape[0] as number;
  const places = g.expand(g.reshape(ids, [count, 1]), [count, width]);
  const out = g.op(
    "ScatterElements",
    [g.reshape(into, [rows, width]), places, g.reshape(updates, [count, width])],
    { shape: [rows, width], dtype: into.dtype, attrs: { axis: 0, reduction } },
  );
  return g.reshape(out, into.shape);
}

export const gathers: KernelTable = {
  GatherV2: kernel<{ axis: number; batchDims: number }>("x indices", (g, [x, indices], attrs) => {
    if (attrs.batchDims) return refuse("gather with batchDims", `${attrs.batchDims}`, "Use flat indices.");
    const axis = axisOf(attrs.axis, x.shape.length);
    const shape = [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)];
    return g.op("Gather", [x, g.cast(indices, "int32")], { shape, dtype: x.dtype, attrs: { axis } });
  }),
  GatherNd: kernel("params indices", (g, [params, indices]) => {
    const depth = indices.shape.at(-1) as number;
    const rest = params.shape.slice(depth);
    const rows = g.reshape(params, [sizeOf(params.shape.slice(0, depth)), ...rest]);
    const ids = flatIndices(g, g.cast(indices, "int32"), params.shape);
    const picked = g.op("Gather", [rows, ids], {
      shape: [...ids.shape, ...rest],
      dtype: params.dtype,
      attrs: { axis: 0 },
    });
    return g.reshape(picked, [...indices.shape.slice(0, -1), ...rest]);
  }),
  UnsortedSegmentSum: kernel<{ numSegments: number }>("x segmentIds", (g, [x, ids], { numSegments }) =>
    addRows(g, x, g.cast(ids, "int32"), numSegments),
  ),
  ScatterNd: kernel<{ shape: number[] }>("indices updates", (g, [indices, updates], { shape }) =>
    scatter(g, g.expand(scalar(0, updates.dtype), shape), indices, updates, "add"),
  ),
  TensorScatterUpdate: kernel("tensor indices updates", (g, [tensor, indices, updates]) =>
    scatter(g, tensor, indices, updates, "none"),
  ),
  /** Our own: x[n, ids[n]] of x [N, V] → [N]. */
  PickPerRow: kernel("x ids", (g, [x, ids]) => {
    const [rows] = x.shape as [number];
    const picked = g.op("GatherElements", [x, g.reshape(ids, [rows, 1])], {
      shape: [rows, 1],
      dtype: x.dtype,
      attrs: { axis: 1 },
    });
    return g.reshape(picked, [rows]);
  }),
  /** Our own: x [N, V] with values[n] added at [n, ids[n]]. */
  AddPerRow: kernel("x ids values", (g, [x, ids, values]) => {
    const [rows] = x.shape as [number];
    return g.op("ScatterElements", [x, g.reshape(ids, [rows, 1]), g.reshape(values, [rows, 1])], {
      shape: x.shape,
      dtype: x.dtype,
      attrs: { axis: 1, reduction: "add" },
    });
  }),
};
