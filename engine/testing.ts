import { addN, cast, grads, mul, sum, type Tensor, tensor, engine as tfEngine } from "@tensorflow/tfjs-core";
import { InvariantError } from "../core/errors.ts";
import type { Arr, Dtype } from "./array.ts";
import { RECORDER } from "./backend.ts";
import { EagerEngine, onBackend } from "./eager.ts";
import type { Engine } from "./engine.ts";
import { sizeOf } from "./shapes.ts";

/**
 * The same interface on tfjs' plain JavaScript backend: slow, simple, for comparing numbers and gradients in tests.
 * Needs the development dependency @tensorflow/tfjs-backend-cpu.
 */
export async function openReferenceEngine(): Promise<Engine> {
  await import("@tensorflow/tfjs-backend-cpu");
  return new EagerEngine("reference", (body) => onBackend("cpu", body));
}

/** An array whose numbers come from their positions. */
export function arr(shape: readonly number[], at: (i: number) => number, dtype: Dtype = "float32"): Arr {
  const numbers = Array.from({ length: sizeOf(shape) }, (_, i) => at(i));
  if (dtype === "float32") return { shape, dtype, data: Float32Array.from(numbers) };
  return { shape, dtype, data: dtype === "int32" ? Int32Array.from(numbers) : Uint8Array.from(numbers) };
}

/** Declared with as many inputs as a case gives it. */
export type TensorFunction = (...inputs: never[]) => Tensor | Tensor[];

/** A weighted sum of all outputs: every output element gets a gradient of its own. */
function objective(out: Tensor | Tensor[]): Tensor {
  const parts = (Array.isArray(out) ? out : [out]).map((t) => {
    const weights = Float32Array.from({ length: t.size }, (_, i) => 0.3 + ((i * 7) % 11) / 10);
    return sum(mul(cast(t, "float32"), tensor(weights, t.shape)));
  });
  return addN(parts);
}

/** The same call on two engines: their outputs, side by side. */
export async function outputsOf(
  engines: readonly [Engine, Engine],
  name: string,
  fn: TensorFunction,
  inputs: readonly Arr[],
): Promise<[Arr, Arr][]> {
  const lists = (...xs: Tensor[]) => [fn(...(xs as never[]))].flat();
  const [a, b] = await Promise.all(engines.map((engine) => engine.jit(name, lists)(...inputs)));
  return pairs(a as Arr[], b as Arr[]);
}

/** Gradients of `objective` in every float32 input, on two engines, side by side. */
export async function gradientsOf(
  engines: readonly [Engine, Engine],
  name: string,
  fn: TensorFunction,
  inputs: readonly Arr[],
): Promise<[Arr, Arr][]> {
  const free = floatInputs(inputs);
  const backward = (...xs: Tensor[]) => {
    const loss = (...ys: Tensor[]) =>
      objective(fn(...(xs.map((x, i) => (free.includes(i) ? ys[free.indexOf(i)] : x)) as never[])));
    return grads(loss)(free.map((i) => xs[i] as Tensor));
  };
  const [a, b] = await Promise.all(engines.map((engine) => engine.jit(`${name}'`, backward)(...inputs)));
  return pairs(a as Arr[], b as Arr[]);
}

export const floatInputs = (inputs: readonly Arr[]): number[] =>
  inputs.flatMap((x, i) => (x.dtype === "float32" ? [i] : []));

/**
 * Largest distance between `gradients` (one per float32 input) and central differences of step `h`, relative above
 * 1, over about five elements of each input.
 */
export async function slopeError(
  engine: Engine,
  fn: TensorFunction,
  inputs: readonly Arr[],
  gradients: readonly Arr[],
  h = 1e-2,
): Promise<number> {
  const value = engine.jit("value", (...xs: Tensor[]) => objective(fn(...(xs as never[]))));
  let worst = 0;
  for (const [k, i] of floatInputs(inputs).entries()) {
    const x = inputs[i] as Arr;
    const at = async (j: number, step: number) => {
      const data = Float32Array.from(x.data);
      data[j] = (data[j] as number) + step;
      const out = await value(...inputs.map((y, m) => (m === i ? { ...x, data } : y)));
      return out.data[0] as number;
    };
    for (let j = 0; j < x.data.length; j += Math.ceil(x.data.length / 5)) {
      const slope = ((await at(j, h)) - (await at(j, -h))) / (2 * h);
      worst = Math.max(worst, distance(gradients[k]?.data[j] as number, slope));
    }
  }
  return worst;
}

/** Largest |a − b| / max(1, |b|); infinite when one is NaN or infinite and the other is not the same. */
export function errorOf(list: readonly [Arr, Arr][]): number {
  let worst = 0;
  for (const [a, b] of list)
    for (let i = 0; i < b.data.length; i++)
      worst = Math.max(worst, distance(a.data[i] as number, b.data[i] as number));
  return worst;
}

function distance(a: number, b: number): number {
  if (Object.is(a, b)) return 0;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return Number.POSITIVE_INFINITY;
  return Math.abs(a - b) / Math.max(1, Math.abs(b));
}

function pairs(a: readonly Arr[], b: readonly Arr[]): [Arr, Arr][] {
  return b.map((y, i) => {
    const x = a[i];
    if (x && a.length === b.length && `${x.shape}` === `${y.shape}` && x.dtype === y.dtype) return [x, y];
    throw new InvariantError({
      what: `output ${i} has another type`,
      got: x ? `${x.dtype} [${x.shape}]` : "nothing",
      expected: `${y.dtype} [${y.shape}]`,
    });
  });
}

/** Names of the kernels that the recording backend is asked for from now on. */
export function watchKernels(): ReadonlySet<string> {
  const ran = new Set<string>();
  const tf = tfEngine();
  const plain = tf.runKernel.bind(tf);
  tf.runKernel = (name, inputs, attrs) => {
    if (tf.backendName === RECORDER) ran.add(name);
    return plain(name, inputs, attrs);
  };
  return ran;
}

/** One test of a function: its name, what it is given, and whether its slopes may be compared (no kinks nearby). */
export interface Case {
  readonly name: string;
  readonly fn: TensorFunction;
  readonly inputs: readonly Arr[];
  readonly smooth: boolean;
}

export const smooth = (name: string, fn: TensorFunction, ...inputs: Arr[]): Case => ({
  name,
  fn,
  inputs,
  smooth: true,
});
/** Steps, kinks or integers: only the outputs are compared. */
export const flat = (name: string, fn: TensorFunction, ...inputs: Arr[]): Case => ({
  name,
  fn,
  inputs,
  smooth: false,
});
