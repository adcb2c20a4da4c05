import type { Tensor } from "@tensorflow/tfjs-core";
import type { Arrays, Tree } from "./array.ts";

/**
 * Runs tfjs functions. `jit` traces `fn` once per input shape and dtype; later calls replay the compiled graph.
 * `fn` must be pure: scalars that change between calls (learning rate, clip bound, normaliser) are inputs,
 * everything else it closes over is baked in. Two calls at once are safe.
 * Annotate fn's parameters with tensors (Tensor, Record<string, Tensor>, Tensor[] …): the compiled function
 * takes and gives the same trees with `Arr` in their place.
 */
export interface Engine {
  readonly backend: string;
  jit<F extends (...inputs: never[]) => Tree<Tensor>>(name: string, fn: F): Jitted<F>;
  /** Compiles, runs, cached sessions: for tests and the end-of-run line. */
  readonly stats: { readonly compiles: number; readonly runs: number; readonly sessions: number };
  dispose(): Promise<void>;
}

/** The compiled form of a traced function. */
export type Jitted<F> = F extends (...inputs: infer P) => infer R
  ? (...inputs: ArrayList<P>) => Promise<Arrays<R>>
  : never;
type ArrayList<P extends readonly unknown[]> = { [K in keyof P]: Arrays<P[K]> };
