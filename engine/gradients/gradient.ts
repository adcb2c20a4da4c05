import { broadcastTo, type GradConfig, reshape, sum, type Tensor, zeros } from "@tensorflow/tfjs-core";

/** Gradients of a kernel's inputs, each made only when it is asked for. */
export type InputGradients = Readonly<Record<string, () => Tensor>>;
export type GradientTable = Readonly<Record<string, Omit<GradConfig, "kernelName">>>;

type Rule<A> = (dy: Tensor, saved: readonly Tensor[], attrs: A) => InputGradients;

/** A row: what to keep ("a b" inputs, "=" the output, "*" every input) and the rule dy → input gradients. */
export function gradient<A = unknown>(keep: string, rule: Rule<A>): Omit<GradConfig, "kernelName"> {
  const names = keep.split(" ").filter((name) => name && name !== "=" && name !== "*");
  return {
    inputsToSave: names,
    ...(keep.includes("*") ? { saveAllInputs: true } : {}),
    ...(keep.includes("=") ? { outputsToSave: [true] } : {}),
    gradFunc: (dy, saved, attrs) => rule(dy as Tensor, saved, attrs as A),
  };
}

/** dy of a broadcast result, summed back to `shape`. */
export function sumTo(dy: Tensor, shape: readonly number[]): Tensor {
  const lead = dy.rank - shape.length;
  const axes = dy.shape
    .map((_, i) => i)
    .filter((i) => i < lead || (shape[i - lead] === 1 && dy.shape[i] !== 1));
  return reshape(axes.length ? sum(dy, axes) : dy, [...shape]);
}

/** dy of a reduction, repeated along the axes that were reduced. */
export function spread(dy: Tensor, shape: readonly number[], axes: readonly number[]): Tensor {
  const kept = shape.map((d, i) => (axes.includes(i) ? 1 : d));
  return broadcastTo(reshape(dy, kept), [...shape] as never);
}

/** The gradient of what has none: steps, roundings, comparisons. */
export const nothing = (x: Tensor) => (): Tensor => zeros(x.shape);
