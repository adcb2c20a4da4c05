import { slice_util, util } from "@tensorflow/tfjs-core";
import { type Graph, int64s, scalar, type Value } from "../graph.ts";
import { axesOf, axisOf, sizeOf } from "../shapes.ts";
import { type KernelTable, kernel, refuse } from "./kernel.ts";

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

function slice(g: Graph, x: Value, begin: readonly number[], size: readonly number[]): Value {
  const shape = size.map((n, i) => (n < 0 ? (x.shape[i] as number) - (begin[i] as number) : n));
  const cut = range(shape.length).filter((i) => shape[i] !== x.shape[i]);
  if (!cut.length) return x;
  const starts = cut.map((i) => begin[i] as number);
  const ends = cut.map((i) => (begin[i] as number) + (shape[i] as number));
  return g.op("Slice", [x, int64s(starts), int64s(ends), int64s(cut)], { shape, dtype: x.dtype });
}

function split(g: Graph, x: Value, sizes: readonly number[], axis: number): readonly Value[] {
  if (sizes.length === 1) return [x];
  const outputs = sizes.map((n) => ({ shape: x.shape.map((d, i) => (i === axis ? n : d)), dtype: x.dtype }));
  return g.ops("Split", [x, int64s(sizes)], outputs, { attrs: { axis } });
}

function concat(g: Graph, list: readonly Value[], axis: number): Value {
  const [first] = list as [Value];
  if (list.length === 1) return first;
  const length = list.reduce((n, x) => n + (x.shape[axis] as number), 0);
  const shape = first.shape.map((d, i) => (i === axis ? length : d));
  return g.op("Concat", list, { shape, dtype: first.dtype, attrs: { axis } });
}

function transpose(g: Graph, x: Value, perm: readonly number[]): Value {
  const shape = perm.map((p) => x.shape[p] as number);
  if (perm.every((p, i) => p === i)) return x;
  // Moving only axes of length 1 moves no number.
  const long = perm.filter((p) => x.shape[p] !== 1);
  if (long.every((p, i) => i === 0 || p > (long[i - 1] as number))) return g.reshape(x, shape);
  return g.op("Transpose", [x], { shape, dtype: x.dtype, attrs: { perm } });
}

function tile(g: Graph, x: Value, reps: readonly number[]): Value {
  const shape = x.shape.map((d, i) => d * (reps[i] as number));
  if (reps.every((r) => r === 1)) return x;
  if (x.shape.every((d, i) => d === 1 || reps[i] === 1)) return g.expand(x, shape);
  return g.op("Tile", [x, int64s(reps)], { shape, dtype: x.dtype });
}

export const shapes: KernelTable = {
  Identity: kernel("x", (_, [x]) => x),
  Reshape: kernel<{ shape: number[] }>("x", (g, [x], { shape }) =>
    g.reshape(x, util.inferFromImplicitShape(shape, sizeOf(x.shape))),
  ),
  ExpandDims: kernel<{ dim: number }>("input", (g, [x], { dim }) => {
    const at = dim < 0 ? x.shape.length + 1 + dim : dim;
    return g.reshape(x, [...x.shape.slice(0, at), 1, ...x.shape.slice(at)]);
  }),
  Transpose: kernel<{ perm: number[] }>("x", (g, [x], { perm }) => transpose(g, x, perm)),
  Tile: kernel<{ reps: number[] }>("x", (g, [x], { reps }) => tile(g, x, reps)),
  Slice: kernel<{ begin: number[]; size: number[] }>("x", (g, [x], { begin, size }) => {
    const [from, count] = slice_util.parseSliceParams(x as never, begin, size) as [number[], number[]];
    return slice(g, x, from, count);
  }),
  StridedSlice: kernel<{
    begin: number[];
    end: number[];
    strides: number[];
    beginMask: number;
    endMask: number;
    ellipsisMask: number;
    newAxisMask: number;
    shrinkAxisMask: number;
  }>("x", (g, [x], a) => {
    const info = slice_util.sliceInfo(
      [...x.shape],
      a.begin,
      a.end,
      a.strides,
      a.beginMask,
      a.endMask,
      a.ellipsisMask,
      a.newAxisMask,
      a.shrinkAxisMask,
    );
    const axes = range(x.shape.length);
    const shape = slice_util.computeOutShape(info.begin, info.end, info.strides);
    // ONNX reads -1 as the last element; "before the first" is any very negative end.
    const ends = info.end.map((e, i) => ((info.strides[i] as number) < 0 && e < 0 ? -(2 ** 31) : e));
    const cut = g.op("Slice", [x, int64s(info.begin), int64s(ends), int64s(axes), int64s(info.strides)], {
      shape,
      dtype: x.dtype,
    });
    return g.reshape(cut, info.finalShape);
  }),
  Reverse: kernel<{ dims: number | number[] }>("x", (g, [x], { dims }) => {
    const axes = axesOf(dims, x.shape.length);
    const each = (n: number) => int64s(axes.map(() => n));
    return axes.length ? g.op("Slice", [x, each(-1), each(-(2 ** 31)), int64s(axes), each(-1)], x) : x;
  }),
  Concat: kernel<{ axis: number }>("*", (g, list, { axis }) => {
    const [first] = list;
    const full = list.filter((x) => sizeOf(x.shape) > 0);
    return concat(g, full.length ? full : [first], axisOf(axis, first.shape.length));
  }),
  Pack: kernel<{ axis: number }>("*", (g, list, { axis }) => {
    const at = axis < 0 ? axis + list[0].shape.length + 1 : axis;
    const stack = list.map((x) => g.reshape(x, [...x.shape.slice(0, at), 1, ...x.shape.slice(at)]));
    return concat(g, stack, at);
  }),
  Unpack: kernel<{ axis: number }>("value", (g, [x], attrs) => {
    const axis = axisOf(attrs.axis, x.shape.length);
    const parts = split(
      g,
      x,
      range(x.shape[axis] as number).map(() => 1),
      axis,
    );
    return parts.map((part) =>
      g.reshape(
        part,
        x.shape.filter((_, i) => i !== axis),
      ),
    );
  }),
  SplitV: kernel<{ numOrSizeSplits: number[] | number; axis: number }>("x", (g, [x], attrs) => {
    const axis = axisOf(attrs.axis, x.shape.length);
    const length = x.shape[axis] as number;
    const { numOrSizeSplits: spec } = attrs;
    const given = typeof spec === "number" ? range(spec).map(() => length / spec) : spec;
    const rest = length - given.filter((n) => n >= 0).reduce((a, b) => a + b, 0);
    const sizes = given.map((n) => (n < 0 ? rest : n));
    if (sizes.some((n) => !Number.isInteger(n)) || sizes.reduce((a, b) => a + b, 0) !== length)
      refuse(`cannot split ${length} rows`, `[${sizes}]`);
    return split(g, x, sizes, axis);
  }),
  PadV2: kernel<{ paddings: [number, number][]; constantValue: number }>("x", (g, [x], a) => {
    const shape = x.shape.map((d, i) => d + (a.paddings[i]?.[0] ?? 0) + (a.paddings[i]?.[1] ?? 0));
    const pads = int64s([...a.paddings.map((p) => p[0]), ...a.paddings.map((p) => p[1])]);
    if (x.dtype === "bool")
      return g.cast(
        g.op("Pad", [g.cast(x, "int32"), pads, scalar(a.constantValue, "int32")], { shape, dtype: "int32" }),
        "bool",
      );
    return g.op("Pad", [x, pads, scalar(a.constantValue, x.dtype)], { shape, dtype: x.dtype });
  }),
  ZerosLike: kernel("x", (g, [x]) => g.expand(scalar(0, x.dtype), x.shape)),
  OnesLike: kernel("x", (g, [x]) => g.expand(scalar(1, x.dtype), x.shape)),
};
