import {
  concat,
  engine,
  expandDims,
  type NamedAttrMap,
  pad,
  reshape,
  reverse,
  slice,
  split,
  stack,
  sum,
  type Tensor,
  transpose,
  unstack,
} from "@tensorflow/tfjs-core";
import { axisOf, sizeOf } from "../shapes.ts";
import { type GradientTable, gradient, nothing } from "./gradient.ts";

/** Transpose that brings every axis back. */
const undo = (perm: readonly number[]): number[] => perm.map((_, i) => perm.indexOf(i));

/** Rows [N, ...] added at ids [N]; repeated ids add up. */
function addRows(rows: Tensor, ids: Tensor, numSegments: number): Tensor {
  const inputs = { x: rows, segmentIds: ids };
  return engine().runKernel("UnsortedSegmentSum", inputs, { numSegments } as NamedAttrMap) as Tensor;
}

export const shapeGradients: GradientTable = {
  Identity: gradient("", (dy) => ({ x: () => dy })),
  Reshape: gradient("x", (dy, saved) => ({ x: () => reshape(dy, (saved[0] as Tensor).shape) })),
  ExpandDims: gradient("input", (dy, saved) => ({ input: () => reshape(dy, (saved[0] as Tensor).shape) })),
  Transpose: gradient<{ perm: number[] }>("", (dy, _, { perm }) => ({ x: () => transpose(dy, undo(perm)) })),
  Tile: gradient<{ reps: number[] }>("x", (dy, saved, { reps }) => ({
    x: () => {
      const { shape } = saved[0] as Tensor;
      // Each axis d · r is r repetitions of d.
      const split = shape.flatMap((d, i) => [reps[i] as number, d]);
      const repeats = shape.map((_, i) => 2 * i).filter((i) => split[i] !== 1);
      return reshape(repeats.length ? sum(reshape(dy, split), repeats) : dy, shape);
    },
  })),
  Slice: gradient<{ begin: number | number[] }>("x", (dy, saved, { begin }) => ({
    x: () => {
      const { shape } = saved[0] as Tensor;
      const from = shape.map((_, i) => (typeof begin === "number" ? (i ? 0 : begin) : (begin[i] ?? 0)));
      const pads = shape.map((d, i): [number, number] => {
        const before = from[i] as number;
        return [before, d - before - (dy.shape[i] as number)];
      });
      return pads.every(([a, b]) => a === 0 && b === 0) ? dy : pad(dy, pads);
    },
  })),
  PadV2: gradient<{ paddings: [number, number][] }>("x", (dy, saved, { paddings }) => ({
    x: () =>
      slice(
        dy,
        paddings.map((p) => p[0]),
        (saved[0] as Tensor).shape,
      ),
  })),
  Reverse: gradient<{ dims: number | number[] }>("", (dy, _, { dims }) => ({ x: () => reverse(dy, dims) })),
  Concat: gradient<{ axis: number }>("*", (dy, saved, attrs) => {
    const axis = axisOf(attrs.axis, dy.rank);
    const sizes = saved.map((x) => x.shape[axis] as number);
    const parts = saved.length > 1 ? split(dy, sizes, axis) : [dy];
    return Object.fromEntries(parts.map((part, i) => [i, () => part]));
  }),
  Pack: gradient<{ axis: number }>("*", (dy, _, { axis }) => {
    const parts = unstack(dy, axis);
    return Object.fromEntries(parts.map((part, i) => [i, () => part]));
  }),
  SplitV: gradient<{ axis: number }>("", (dy, _, { axis }) => {
    const parts = dy as unknown as Tensor | Tensor[];
    return { x: () => (Array.isArray(parts) ? concat(parts, axis) : parts) };
  }),
  Unpack: gradient<{ axis: number }>("", (dy, _, { axis }) => {
    const parts = dy as unknown as Tensor | Tensor[];
    return { value: () => (Array.isArray(parts) ? stack(parts, axis) : expandDims(parts, axis)) };
  }),
  GatherV2: gradient<{ axis: number }>("x indices", (dy, saved, attrs) => {
    const [x, indices] = saved as [Tensor, Tensor];
    const axis = axisOf(attrs.axis, x.rank);
    return {
      indices: nothing(indices),
      x: () => {
        // Bring the gathered axes to the front, add rows, bring the axis back.
        const outer = x.shape.slice(0, axis);
        const inner = x.shape.slice(axis + 1);
        const flat = reshape(dy, [sizeOf(outer), indices.size, sizeOf(inner)]);
        const rows = addRows(
          transpose(flat, [1, 0, 2]),
          reshape(indices, [indices.size]),
          x.shape[axis] as number,
        );
        return reshape(transpose(rows, [1, 0, 2]), x.shape);
      },
    };
  }),
  UnsortedSegmentSum: gradient("segmentIds", (dy, saved) => {
    const [ids] = saved as [Tensor];
    const inputs = { x: dy, indices: ids };
    return {
      segmentIds: nothing(ids),
      x: () => engine().runKernel("GatherV2", inputs, { axis: 0, batchDims: 0 } as NamedAttrMap) as Tensor,
    };
  }),
  ZerosLike: gradient("x", (_, saved) => ({ x: nothing(saved[0] as Tensor) })),
  OnesLike: gradient("x", (_, saved) => ({ x: nothing(saved[0] as Tensor) })),
  OneHot: gradient("indices", (_, saved) => ({ indices: nothing(saved[0] as Tensor) })),
};
