import { cast, cumsum, div, equal, mul, prod, reshape, scalar, type Tensor } from "@tensorflow/tfjs-core";
import { axesOf, sizeOf } from "../shapes.ts";
import { type GradientTable, gradient, nothing, spread } from "./gradient.ts";

interface ReduceAttrs {
  readonly axis?: number | readonly number[];
  readonly reductionIndices?: number | readonly number[];
}

const axes = (a: ReduceAttrs, x: Tensor): number[] => axesOf(a.axis ?? a.reductionIndices, x.rank);

/** Every place that equals the extreme gets the gradient, as tfjs does. */
const extreme = gradient<ReduceAttrs>("x =", (dy, saved, attrs) => {
  const [x, y] = saved as [Tensor, Tensor];
  const over = axes(attrs, x);
  return { x: () => mul(spread(dy, x.shape, over), cast(equal(x, spread(y, x.shape, over)), "float32")) };
});

export const reduceGradients: GradientTable = {
  Sum: gradient<ReduceAttrs>("x", (dy, saved, attrs) => {
    const [x] = saved as [Tensor];
    return { x: () => spread(dy, x.shape, axes(attrs, x)) };
  }),
  Mean: gradient<ReduceAttrs>("x", (dy, saved, attrs) => {
    const [x] = saved as [Tensor];
    const count = sizeOf(axes(attrs, x).map((i) => x.shape[i] as number));
    return { x: () => spread(mul(dy, scalar(1 / count)), x.shape, axes(attrs, x)) };
  }),
  Max: extreme,
  Min: extreme,
  /** dy · y / x: undefined (NaN) where a factor is zero. */
  Prod: gradient<ReduceAttrs>("x", (dy, saved, attrs) => {
    const [x] = saved as [Tensor];
    const over = axes(attrs, x);
    return { x: () => div(spread(mul(dy, reshape(prod(x, over), dy.shape)), x.shape, over), x) };
  }),
  Any: gradient("x", (_, saved) => ({ x: nothing(saved[0] as Tensor) })),
  All: gradient("x", (_, saved) => ({ x: nothing(saved[0] as Tensor) })),
  ArgMax: gradient("x", (_, saved) => ({ x: nothing(saved[0] as Tensor) })),
  ArgMin: gradient("x", (_, saved) => ({ x: nothing(saved[0] as Tensor) })),
  Cumsum: gradient<{ axis: number; exclusive: boolean; reverse: boolean }>("", (dy, _, a) => ({
    x: () => cumsum(dy, a.axis, a.exclusive, !a.reverse),
  })),
};
