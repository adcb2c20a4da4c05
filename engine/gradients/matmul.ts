import { matMul, type Tensor } from "@tensorflow/tfjs-core";
import { type GradientTable, gradient, sumTo } from "./gradient.ts";

/** C = op(A)·op(B): each gradient is a product that reads its factors transposed, never copies them. */
export const matMulGradients: GradientTable = {
  BatchMatMul: gradient<{ transposeA: boolean; transposeB: boolean }>("a b", (dy, saved, attrs) => {
    const [a, b] = saved as [Tensor, Tensor];
    const { transposeA: ta, transposeB: tb } = attrs;
    const da = () => (ta ? matMul(b, dy, tb, true) : matMul(dy, b, false, !tb));
    const db = () => (tb ? matMul(dy, a, true, ta) : matMul(a, dy, !ta, false));
    return { a: () => sumTo(da(), a.shape), b: () => sumTo(db(), b.shape) };
  }),
};
