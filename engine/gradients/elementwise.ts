import {
  add,
  cast,
  cos,
  div,
  exp,
  floor,
  greater,
  greaterEqual,
  less,
  lessEqual,
  log,
  logicalAnd,
  mul,
  neg,
  pow,
  scalar,
  sigmoid,
  sign,
  sin,
  sqrt,
  square,
  sub,
  sum,
  type Tensor,
  where,
  zerosLike,
} from "@tensorflow/tfjs-core";
import { type GradientTable, gradient, nothing, sumTo } from "./gradient.ts";

const TWO_OVER_ROOT_PI = 2 / Math.sqrt(Math.PI);
const SELU = { alpha: 1.6732632423543772, scale: 1.0507009873554805 };

/** x → slope(x), times dy. */
const fromInput = (slope: (x: Tensor) => Tensor) =>
  gradient("x", (dy, saved) => ({ x: () => mul(dy, slope(saved[0] as Tensor)) }));
/** y → slope in terms of the output, times dy. */
const fromOutput = (slope: (y: Tensor) => Tensor) =>
  gradient("=", (dy, saved) => ({ x: () => mul(dy, slope(saved[0] as Tensor)) }));
const flat = gradient("x", (_, saved) => ({ x: nothing(saved[0] as Tensor) }));
const flatPair = gradient("a b", (_, saved) => {
  const [a, b] = saved as [Tensor, Tensor];
  return { a: nothing(a), b: nothing(b) };
});
const one = (): Tensor => scalar(1);
const number = (mask: Tensor): Tensor => cast(mask, "float32");

type Pair = (dy: Tensor, a: Tensor, b: Tensor) => Tensor;
/** Both inputs of a broadcasting operator; each gradient is summed back to its input's shape. */
const pair = (da: Pair, db: Pair) =>
  gradient("a b", (dy, saved) => {
    const [a, b] = saved as [Tensor, Tensor];
    return { a: () => sumTo(da(dy, a, b), a.shape), b: () => sumTo(db(dy, a, b), b.shape) };
  });

export const elementwiseGradients: GradientTable = {
  Add: pair(
    (dy) => dy,
    (dy) => dy,
  ),
  Sub: pair(
    (dy) => dy,
    (dy) => neg(dy),
  ),
  Multiply: pair(
    (dy, _, b) => mul(dy, cast(b, "float32")),
    (dy, a) => mul(dy, cast(a, "float32")),
  ),
  RealDiv: pair(
    (dy, _, b) => div(dy, cast(b, "float32")),
    (dy, a, b) => neg(div(mul(dy, cast(a, "float32")), square(cast(b, "float32")))),
  ),
  // Ties give the whole gradient to both sides, as tfjs does.
  Maximum: pair(
    (dy, a, b) => mul(dy, number(greaterEqual(a, b))),
    (dy, a, b) => mul(dy, number(less(a, b))),
  ),
  Minimum: pair(
    (dy, a, b) => mul(dy, number(lessEqual(a, b))),
    (dy, a, b) => mul(dy, number(greater(a, b))),
  ),
  SquaredDifference: pair(
    (dy, a, b) => mul(dy, mul(sub(a, b), scalar(2))),
    (dy, a, b) => mul(dy, mul(sub(b, a), scalar(2))),
  ),
  Pow: pair(
    (dy, a, b) => mul(dy, mul(cast(b, "float32"), pow(a, sub(cast(b, "float32"), one())))),
    // log(a) only where it exists; elsewhere the exponent is not differentiable.
    (dy, a, b) => mul(dy, mul(pow(a, b), where(greater(a, zerosLike(a)), log(a), zerosLike(a)))),
  ),
  Mod: pair(
    (dy) => dy,
    (dy, a, b) => mul(dy, neg(floor(div(a, b)))),
  ),
  AddN: gradient("*", (dy, saved) => Object.fromEntries(saved.map((_, i) => [i, () => dy]))),
  Greater: flatPair,
  GreaterEqual: flatPair,
  Less: flatPair,
  LessEqual: flatPair,
  Equal: flatPair,
  NotEqual: flatPair,
  LogicalAnd: flatPair,
  LogicalOr: flatPair,
  FloorDiv: flatPair,
  LogicalNot: flat,
  Floor: flat,
  Ceil: flat,
  Round: flat,
  Sign: flat,
  Step: flat,
  IsNan: flat,
  IsInf: flat,
  IsFinite: flat,
  Cast: gradient("", (dy) => ({ x: () => cast(dy, "float32") })),
  Abs: fromInput((x) => sign(cast(x, "float32"))),
  Neg: gradient("", (dy) => ({ x: () => neg(dy) })),
  Exp: gradient("=", (dy, saved) => ({ x: () => mul(dy, saved[0] as Tensor) })),
  Expm1: fromInput((x) => exp(x)),
  Log: gradient("x", (dy, saved) => ({ x: () => div(dy, cast(saved[0] as Tensor, "float32")) })),
  Log1p: gradient("x", (dy, saved) => ({ x: () => div(dy, add(one(), saved[0] as Tensor)) })),
  Sqrt: fromInput((x) => div(scalar(0.5), sqrt(x))),
  Rsqrt: fromOutput((y) => mul(scalar(-0.5), mul(y, square(y)))),
  Square: fromInput((x) => mul(cast(x, "float32"), scalar(2))),
  Reciprocal: fromOutput((y) => neg(square(y))),
  Sigmoid: fromOutput((y) => mul(y, sub(one(), y))),
  Tanh: fromOutput((y) => sub(one(), square(y))),
  Softplus: fromInput(sigmoid),
  Erf: fromInput((x) => mul(exp(neg(square(x))), scalar(TWO_OVER_ROOT_PI))),
  Sin: fromInput(cos),
  Cos: fromInput((x) => neg(sin(x))),
  Tan: fromInput((x) => div(one(), square(cos(x)))),
  Sinh: fromInput((x) => mul(add(exp(x), exp(neg(x))), scalar(0.5))),
  Cosh: fromInput((x) => mul(sub(exp(x), exp(neg(x))), scalar(0.5))),
  Asin: fromInput((x) => div(one(), sqrt(sub(one(), square(x))))),
  Acos: fromInput((x) => neg(div(one(), sqrt(sub(one(), square(x)))))),
  Atan: fromInput((x) => div(one(), add(one(), square(x)))),
  Asinh: fromInput((x) => div(one(), sqrt(add(one(), square(x))))),
  Acosh: fromInput((x) => div(one(), sqrt(sub(square(x), one())))),
  Atanh: fromInput((x) => div(one(), sub(one(), square(x)))),
  Relu: fromInput((x) => number(greater(x, scalar(0)))),
  Relu6: fromInput((x) => number(logicalAnd(greater(x, scalar(0)), lessEqual(x, scalar(6))))),
  Elu: fromOutput((y) => where(greater(y, zerosLike(y)), add(zerosLike(y), one()), add(y, one()))),
  Selu: fromInput((x) =>
    where(
      greater(x, zerosLike(x)),
      add(zerosLike(x), scalar(SELU.scale)),
      mul(exp(x), scalar(SELU.scale * SELU.alpha)),
    ),
  ),
  LeakyRelu: gradient<{ alpha: number }>("x", (dy, saved, { alpha }) => ({
    x: () => where(greater(saved[0] as Tensor, scalar(0)), dy, mul(dy, scalar(alpha))),
  })),
  Prelu: gradient("x alpha", (dy, saved) => {
    const [x, alpha] = saved as [Tensor, Tensor];
    const above = greater(x, zerosLike(x));
    return {
      x: () => where(above, dy, mul(dy, alpha)),
      alpha: () => sumTo(where(above, zerosLike(dy), mul(dy, x)), alpha.shape),
    };
  }),
  ClipByValue: gradient<{ clipValueMin: number; clipValueMax: number }>("x", (dy, saved, a) => ({
    x: () => {
      const x = saved[0] as Tensor;
      const inside = logicalAnd(
        greaterEqual(x, scalar(a.clipValueMin)),
        lessEqual(x, scalar(a.clipValueMax)),
      );
      return where(inside, dy, zerosLike(dy));
    },
  })),
  Select: gradient("condition", (dy, saved) => {
    const [condition] = saved as [Tensor];
    return {
      condition: nothing(condition),
      t: () => mul(dy, number(condition)),
      e: () => mul(dy, sub(one(), number(condition))),
    };
  }),
  Softmax: gradient<{ dim: number }>("=", (dy, saved, { dim }) => ({
    logits: () => {
      const [y] = saved as [Tensor];
      const weighted = mul(dy, y);
      return sub(weighted, mul(sum(weighted, dim, true), y));
    },
  })),
  LogSoftmax: gradient<{ axis: number }>("=", (dy, saved, { axis }) => ({
    logits: () => sub(dy, mul(sum(dy, axis, true), exp(saved[0] as Tensor))),
  })),
};
