import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../engine.ts";
import { gradients } from "../gradients/register.ts";
import { openEngine } from "../open.ts";
import { entropyOf, gatherRows, targetLogprobs } from "../ops.ts";
import { rotateHeads } from "../rotary.ts";
import {
  arr,
  type Case,
  errorOf,
  flat,
  gradientsOf,
  openReferenceEngine,
  outputsOf,
  slopeError,
  smooth,
  watchKernels,
} from "../testing.ts";
import { creators } from "./create.ts";
import { gathers } from "./gather.ts";
import { products } from "./matmul.ts";
import { rotations } from "./rotary.ts";
import { shapes } from "./shape.ts";
import { kernels } from "./table.ts";

type T = tf.Tensor;

const x = arr([2, 3, 4], (i) => ((i * 7) % 13) / 4 - 1.45);
const y = arr([2, 3, 4], (i) => 1.3 - ((i * 5) % 11) / 5);
const row = arr([4], (i) => 0.7 - i / 3);
const matrix = arr([5, 4], (i) => Math.sin(i * 1.7));
const ids = arr([6], (i) => [0, 4, 4, 1, 4, 0][i] as number, "int32");
const targets = arr([5], (i) => (i * 3) % 4, "int32");
const bigTable = arr([600, 2], Math.sin);
const bigIds = arr([2, 3], (i) => [599, 3, 3, 0, 3, 599][i] as number, "int32");

const heads = arr([2, 3, 8], (i) => Math.sin(i * 0.7));
const angles = (shape: number[], of: (angle: number) => number): T =>
  tf.tensor(arr(shape, (i) => of(i * 0.4)).data, shape);

const cells = (i: T): T => tf.stack([i, tf.minimum(i, tf.scalar(3, "int32"))], 1);

const cases: Case[] = [
  smooth("reshape, expandDims", (a: T) => [tf.reshape(a, [4, 6]), tf.expandDims(a, 1)], x),
  smooth("squeeze", (a: T) => tf.squeeze(tf.reshape(a, [1, 24, 1])), x),
  smooth("a chain of reshapes", (a: T) => tf.reshape(tf.reshape(tf.reshape(a, [24]), [6, 4]), [2, 3, 4]), x),
  smooth("transpose", (a: T) => [tf.transpose(a), tf.transpose(a, [0, 2, 1]), tf.transpose(a, [1, 2, 0])], x),
  smooth("transpose of short axes", (a: T) => tf.transpose(tf.reshape(a, [2, 1, 12]), [1, 0, 2]), x),
  smooth("tile", (a: T) => [tf.tile(a, [2, 1, 3]), tf.tile(tf.reshape(a, [1, 24]), [3, 1])], x),
  smooth("broadcastTo", (a: T) => tf.mul(tf.broadcastTo(a, [2, 3, 4]), 2), row),
  smooth("slice", (a: T) => [tf.slice(a, [0, 1, 1], [2, 2, 2]), tf.slice(a, [1], [1]), tf.slice(a, 0, 1)], x),
  smooth("slice of everything", (a: T) => tf.slice(a, [0, 0, 0], [2, -1, 4]), x),
  flat("stridedSlice", (a: T) => tf.stridedSlice(a, [0, 0, 0], [2, 3, 4], [1, 2, 2]), x),
  flat("stridedSlice backwards", (a: T) => tf.stridedSlice(a, [1, 2, 3], [0, 0, 0], [-1, -1, -1], 0, 7), x),
  smooth("reverse", (a: T) => [tf.reverse(a, 1), tf.reverse(a)], x),
  smooth("concat", (a: T, b: T) => [tf.concat([a, b], 0), tf.concat([a, b, a], -1), tf.concat([a], 1)], x, y),
  smooth("stack", (a: T, b: T) => [tf.stack([a, b], 1), tf.stack([a, b], -1)], x, y),
  smooth("unstack", (a: T) => [...tf.unstack(a, 1), ...tf.unstack(tf.slice(a, 0, 1), 0)], x),
  smooth("split", (a: T) => [...tf.split(a, 2, -1), ...tf.split(a, [1, -1], 1), ...tf.split(a, 1, 0)], x),
  smooth("one part of a split", (a: T) => tf.split(a, 2, -1)[1] as T, x),
  smooth("pad", (a: T) => tf.pad(a, [[1, 0], [0, 2], [1, 1]], 0.5), x), // biome-ignore format: pairs
  flat("pad of flags", (a: T) => tf.pad(tf.greater(a, 0), [[0, 0], [1, 1], [0, 0]], 1), x), // biome-ignore format: pairs
  smooth("zerosLike, onesLike", (a: T) => [tf.zerosLike(a), tf.add(a, tf.onesLike(a))], x),
  smooth("fill", (a: T) => [tf.add(a, tf.fill([4], 2.5)), tf.fill([3, 2], 7, "int32")], row),
  flat(
    "range, linspace",
    (a: T) => [a, tf.range(0, 7, 2, "int32"), tf.range(3, 0, -0.5), tf.linspace(0, 1, 5)],
    row,
  ),
  flat("oneHot", (a: tf.Tensor1D) => [tf.oneHot(a, 5), tf.oneHot(a, 3, 2, -1)], ids),
  smooth(
    "matMul",
    (a: T, b: T) => [tf.matMul(a, b, false, true), tf.matMul(a, b, true)],
    matrix,
    arr([5, 4], Math.cos),
  ),
  smooth("batched matMul", (a: T, b: T) => tf.matMul(a, b, false, true), x, y),
  smooth(
    "matMul, both transposed",
    (a: T, b: T) => tf.matMul(a, tf.transpose(b, [0, 2, 1]), true, true),
    x,
    y,
  ),
  smooth("broadcast matMul", (a: T, b: T) => tf.matMul(a, b), arr([1, 4, 3], Math.sin), x),
  smooth("dot", tf.dot, row, row),
  smooth("gather", (a: T, i: T) => [tf.gather(a, i), tf.gather(tf.transpose(a), i, 1)], matrix, ids),
  smooth(
    "segment sum",
    (a: T, i: tf.Tensor1D) => tf.unsortedSegmentSum(tf.slice(tf.concat([a, a]), 0, 6), i, 7),
    matrix,
    ids,
  ),
  flat("gatherND", (a: T, i: T) => tf.gatherND(a, cells(i)), matrix, ids),
  flat(
    "scatterND",
    (a: T, i: T) => tf.scatterND(cells(i) as tf.Tensor2D, tf.gatherND(a, cells(i)), [5, 4] as never),
    matrix,
    ids,
  ),
  flat(
    "tensorScatterUpdate",
    (a: T) => tf.tensorScatterUpdate(a, tf.tensor2d([[3], [0]], [2, 1], "int32"), tf.zeros([2, 4])),
    matrix,
  ),
  smooth("gatherRows", gatherRows, matrix, ids),
  smooth("gatherRows of a big table", gatherRows, bigTable, bigIds),
  smooth("targetLogprobs", (z: T, i: T) => Object.values(targetLogprobs(z, i)), matrix, targets),
  smooth("logprobs alone", (z: T, i: T) => targetLogprobs(z, i).logprobs, matrix, targets),
  smooth("entropyOf", entropyOf, matrix),
  smooth(
    "rotateHeads",
    (a: T) => rotateHeads(a, 2, angles([3, 2], Math.cos), angles([3, 2], Math.sin)),
    heads,
  ),
  smooth(
    "rotateHeads, each row at its own place",
    (a: T) => rotateHeads(a, 1, angles([6, 4], Math.cos), angles([6, 4], Math.sin)),
    heads,
  ),
];

const ran = watchKernels();
let engines: [Engine, Engine];
beforeAll(async () => {
  engines = [await openEngine({ threads: 2, maxSessions: 8 }), await openReferenceEngine()];
});
afterAll(async () => {
  for (const engine of engines) await engine.dispose();
});

describe.each(cases)("$name", ({ name, fn, inputs, smooth: compared }) => {
  test("gives what tfjs' own backend gives", async () => {
    expect(errorOf(await outputsOf(engines, name, fn, inputs))).toBeLessThan(1e-5);
  });
  if (compared)
    test("has the gradient of the reference and of central differences", async () => {
      const both = await gradientsOf(engines, name, fn, inputs);
      expect(errorOf(both)).toBeLessThan(2e-5);
      const ours = both.map(([mine]) => mine);
      expect(await slopeError(engines[0], fn, inputs, ours)).toBeLessThan(5e-3);
    });
});

test("every kernel of these tables was run, and every gradient rule belongs to a kernel", () => {
  const all = Object.keys({ ...shapes, ...products, ...gathers, ...creators, ...rotations });
  expect(all.filter((name) => !ran.has(name))).toEqual([]);
  expect(Object.keys(gradients).filter((name) => !(name in kernels))).toEqual([]);
});
