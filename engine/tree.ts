import { Tensor } from "@tensorflow/tfjs-core";
import { EngineError } from "../core/errors.ts";
import type { Arr, Tree } from "./array.ts";

export const isArr = (x: unknown): x is Arr =>
  typeof x === "object" &&
  x !== null &&
  "data" in x &&
  "shape" in x &&
  "dtype" in x &&
  ArrayBuffer.isView(x.data);

export const isTensor = (x: unknown): x is Tensor => x instanceof Tensor;

/** Leaves in insertion order. Throws EngineError, with the path, at anything that is neither leaf, list nor record. */
export function leavesOf<L>(tree: Tree<L>, isLeaf: (x: unknown) => x is L, out: L[] = [], path = ""): L[] {
  if (isLeaf(tree)) out.push(tree);
  else if (Array.isArray(tree))
    for (const [i, x] of tree.entries()) leavesOf(x, isLeaf, out, `${path}[${i}]`);
  else if (typeof tree === "object" && tree !== null && !ArrayBuffer.isView(tree)) {
    for (const [key, x] of Object.entries(tree)) leavesOf(x as Tree<L>, isLeaf, out, `${path}.${key}`);
  } else
    throw new EngineError({
      what: `a tree holds something that is neither array, list nor record at ${path || "its root"}`,
      got: tree === null ? "null" : typeof tree,
    });
  return out;
}

/** The same tree with each leaf replaced, in the order of `leavesOf`. */
export function mapTree<L, M>(tree: Tree<L>, isLeaf: (x: unknown) => x is L, leaf: (x: L) => M): Tree<M> {
  if (isLeaf(tree)) return leaf(tree);
  if (Array.isArray(tree)) return tree.map((x) => mapTree(x, isLeaf, leaf));
  return Object.fromEntries(
    Object.entries(tree as object).map(([key, x]) => [key, mapTree(x as Tree<L>, isLeaf, leaf)]),
  );
}

/** The shape of a call: tree, dtypes and shapes. Two calls with one signature share one program. */
export function signatureOf(tree: Tree<Arr>): string {
  if (isArr(tree)) return `${tree.dtype[0]}${tree.shape.join("x")}`;
  if (Array.isArray(tree)) return `[${tree.map(signatureOf).join(",")}]`;
  const parts = Object.entries(tree as object).map(([key, x]) => `${key}:${signatureOf(x)}`);
  return `{${parts.join(",")}}`;
}
