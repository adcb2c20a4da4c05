import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../engine.ts";
import { openEngine } from "../open.ts";
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
import { elementwise } from "./elementwise.ts";
import { reductions } from "./reduce.ts";

type T = tf.Tensor;

// Values away from kinks, of both signs; positive ones; ones inside (−1, 1).
const x = arr([2, 3, 4], (i) => ((i * 7) % 13) / 4 - 1.45);
const y = arr([2, 3, 4], (i) => 1.3 - ((i * 5) % 11) / 5);
const row = arr([4], (i) => 0.7 - i / 3);
const column = arr([3, 1], (i) => i - 0.8);
const positive = arr([2, 3, 4], (i) => 0.4 + ((i * 7) % 13) / 6);
const small = arr([2, 5], (i) => ((i * 3) % 10) / 12 - 0.37);
const ints = arr([2, 3], (i) => ((i * 5) % 7) - 3, "int32");
const divisors = arr([2, 3], (i) => [2, -2, 3, -3, 1, 5][i] as number, "int32");
const flags = arr([2, 3, 4], (i) => Number(i % 3 === 0), "bool");
const masks = arr([2, 3, 4], (i) => Number(i % 2 === 0), "bool");
const odd = arr([6], (i) => [Number.NaN, Infinity, -Infinity, 0, -2, 3][i] as number);

const cases: Case[] = [
  smooth("add", tf.add, x, row),
  smooth("sub", tf.sub, column, x),
  smooth("mul", tf.mul, x, column),
  smooth("mul by itself", (a: T) => tf.mul(a, a), x),
  smooth(
    "a scalar everywhere",
    (a: T, b: T) => tf.mul(tf.add(a, b), b),
    x,
    arr([], () => 0.6),
  ),
  smooth("div", tf.div, x, positive),
  smooth("div of a row", tf.div, row, positive),
  smooth("maximum", tf.maximum, x, y),
  smooth("minimum", tf.minimum, x, row),
  smooth("pow", tf.pow, positive, row),
  smooth("pow 2", (a: T) => tf.pow(a, 2), x),
  smooth("pow 3", (a: T) => tf.pow(a, 3), x),
  smooth(
    "mod",
    tf.mod,
    x,
    arr([2, 3, 4], () => 0.83),
  ),
  smooth("squaredDifference", tf.squaredDifference, x, row),
  smooth("addN", (a: T, b: T, c: T) => tf.addN([a, b, c]), x, y, positive),
  smooth("neutral operands", (a: T) => tf.div(tf.mul(tf.add(tf.sub(a, 0), 0), tf.ones([2, 2, 3, 4])), 1), x),
  flat(
    "int + − × max",
    (a: T, b: T) => [tf.add(a, b), tf.sub(a, b), tf.mul(a, b), tf.maximum(a, b)],
    ints,
    divisors,
  ),
  flat("int floorDiv, mod", (a: T, b: T) => [tf.floorDiv(a, b), tf.mod(a, b)], ints, divisors),
  flat("float floorDiv", tf.floorDiv, x, positive),
  flat("> ≥ <", (a: T, b: T) => [tf.greater(a, b), tf.greaterEqual(a, b), tf.less(a, b)], ints, divisors),
  flat("≤ = ≠", (a: T, b: T) => [tf.lessEqual(a, b), tf.equal(a, b), tf.notEqual(a, b)], ints, divisors),
  flat(
    "and, or, xor",
    (a: T, b: T) => [tf.logicalAnd(a, b), tf.logicalOr(a, b), tf.logicalXor(a, b)],
    flags,
    masks,
  ),
  flat("not, = of flags", (a: T, b: T) => [tf.logicalNot(a), tf.equal(a, b)], flags, masks),
  smooth("abs", tf.abs, x),
  smooth("neg", tf.neg, x),
  flat("sign, floor, ceil", (a: T) => [tf.sign(a), tf.floor(a), tf.ceil(a)], x),
  flat(
    "round half to even",
    tf.round,
    arr([5], (i) => i - 1.5),
  ),
  smooth("square", tf.square, x),
  smooth("exp, expm1", (a: T) => [tf.exp(a), tf.expm1(a)], x),
  smooth("log, log1p", (a: T) => [tf.log(a), tf.log1p(a)], positive),
  smooth("sqrt, rsqrt", (a: T) => [tf.sqrt(a), tf.rsqrt(a)], positive),
  smooth("reciprocal", tf.reciprocal, positive),
  smooth("sigmoid, softplus", (a: T) => [tf.sigmoid(a), tf.softplus(a)], x),
  smooth("tanh, erf", (a: T) => [tf.tanh(a), tf.erf(a)], x),
  smooth("sin, cos", (a: T) => [tf.sin(a), tf.cos(a)], x),
  smooth("tan, asin", (a: T) => [tf.tan(a), tf.asin(a)], small),
  smooth("acos, atan", (a: T) => [tf.acos(a), tf.atan(a)], small),
  smooth("asinh, atanh", (a: T) => [tf.asinh(a), tf.atanh(a)], small),
  smooth("sinh, cosh", (a: T) => [tf.sinh(a), tf.cosh(a)], x),
  smooth("acosh", (a: T) => tf.acosh(tf.add(a, 1)), positive),
  smooth("relu, relu6", (a: T) => [tf.relu(a), tf.relu6(tf.mul(a, 5))], x),
  smooth("elu, selu", (a: T) => [tf.elu(a), tf.selu(a)], x),
  smooth("leakyRelu", (a: T) => tf.leakyRelu(a, 0.2), x),
  smooth("prelu", tf.prelu, x, row),
  smooth("clipByValue", (a: T) => tf.clipByValue(a, -0.5, 1), x),
  flat("step", (a: T) => tf.step(a, 0.25), x),
  flat("step of odd numbers", (a: T) => tf.step(a, 0.5), odd),
  flat("isNaN, isInf, isFinite", (a: T) => [tf.isNaN(a), tf.isInf(a), tf.isFinite(a)], odd),
  flat("cast of floats", (a: T) => [tf.cast(a, "int32"), tf.cast(tf.cast(a, "bool"), "float32")], x),
  flat("cast of ints", (a: T) => [tf.cast(a, "float32"), tf.cast(a, "bool")], ints),
  smooth("where", (c: T, a: T, b: T) => tf.where(c, a, b), flags, x, y),
  smooth("where, broadcast", (c: T, a: T) => tf.where(c, a, tf.scalar(-3)), flags, row),
  smooth("where by a comparison", (a: T, b: T) => tf.where(tf.greater(a, b), tf.square(a), b), x, y),
  smooth("softmax, logSoftmax", (a: T) => [tf.softmax(a), tf.logSoftmax(a)], x),
  smooth("cumsum", (a: T) => [tf.cumsum(a, 1), tf.cumsum(a, 2, true)], x),
  smooth("cumsum backwards", (a: T) => [tf.cumsum(a, 0, false, true), tf.cumsum(a, 2, true, true)], x),
  smooth("sum", (a: T) => [tf.sum(a), tf.sum(a, 1), tf.sum(a, [0, 2]), tf.sum(a, -1, true)], x),
  smooth("sum of nothing", (a: T) => tf.sum(tf.reshape(a, [2, 1, 12]), 1), x),
  flat("sum of flags", (a: T) => tf.sum(a, 1), flags),
  smooth("mean", (a: T) => [tf.mean(a), tf.mean(a, 1), tf.mean(a, -1, true)], x),
  smooth(
    "max, min",
    (a: T) => [tf.max(a), tf.max(a, 1), tf.min(a, -1, true)],
    arr([2, 3, 4], (i) => Math.sin(i * i)),
  ),
  smooth(
    "prod",
    (a: T) => [tf.prod(a), tf.prod(a, 1)],
    arr([2, 3], (i) => 0.6 + i / 5),
  ),
  flat("any, all", (a: T) => [tf.any(a, 1), tf.all(a, 2, true)], flags),
  flat("argMax, argMin", (a: T) => [tf.argMax(a, -1), tf.argMin(a, 1)], x),
  flat(
    "argMax of ties",
    (a: T) => tf.argMax(a, -1),
    arr([2, 4], (i) => i % 2),
  ),
  flat("topk", (a: T) => Object.values(tf.topk(a, 2)), x),
  smooth("logSumExp, norm", (a: T) => [tf.logSumExp(a, -1), tf.norm(a)], x),
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

test("every kernel of these tables was run", () => {
  const all = Object.keys({ ...elementwise, ...reductions });
  // These belong to our own operations (ops.test.ts).
  expect(all.filter((name) => !ran.has(name))).toEqual(["MulAdd", "LogSoftmax"]);
});
