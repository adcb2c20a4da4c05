import type { Tensor } from "@tensorflow/tfjs-core";

export type Dtype = "float32" | "int32" | "bool";

/** A plain array with a shape: what goes in and out of a compiled function. `data.length` is the product of `shape`. */
export interface Arr {
  readonly shape: readonly number[];
  readonly dtype: Dtype;
  readonly data: Float32Array | Int32Array | Uint8Array;
}

/** A nested record or list with leaves L. Leaves are visited in insertion order. */
export type Tree<L> = L | readonly Tree<L>[] | { readonly [key: string]: Tree<L> };

/** The same tree with tensors for arrays: what the traced function sees. */
export type Tensors<T> = T extends Arr
  ? Tensor
  : T extends readonly (infer E)[]
    ? Tensors<E>[]
    : { readonly [K in keyof T]: Tensors<T[K]> };

/** The same tree with arrays for tensors: what the caller gets back. */
export type Arrays<T> = T extends Tensor
  ? Arr
  : T extends readonly (infer E)[]
    ? Arrays<E>[]
    : { readonly [K in keyof T]: Arrays<T[K]> };

/** A named set of weights in Hugging Face names, e.g. "model.layers.0.self_attn.q_proj.weight". */
export type Params = Readonly<Record<string, Arr>>;
