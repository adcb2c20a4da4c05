import { relative } from "node:path";

/** Where a value was stated. What is stated nowhere is a default. */
export type Origin =
  | { readonly kind: "file"; readonly file: string; readonly line: number }
  | { readonly kind: "override"; readonly text: string };

export type Scalar = string | number | boolean | null;

/** A YAML value that remembers where each of its parts was stated. */
export type Tree = { readonly origin: Origin } & (
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, Tree> }
  | { readonly kind: "list"; readonly items: readonly Tree[] }
  | { readonly kind: "scalar"; readonly value: Scalar }
);

export type Path = readonly (string | number)[];

/** The plain value of a tree. */
export function plain(tree: Tree): unknown {
  if (tree.kind === "scalar") return tree.value;
  if (tree.kind === "list") return tree.items.map(plain);
  return Object.fromEntries([...tree.entries].map(([key, value]) => [key, plain(value)]));
}

/** Maps are merged key by key; a list, a scalar or null replaces what was there. */
export function merge(base: Tree, over: Tree): Tree {
  if (base.kind !== "map" || over.kind !== "map") return over;
  const entries = new Map(base.entries);
  for (const [key, value] of over.entries) {
    const before = entries.get(key);
    entries.set(key, before ? merge(before, value) : value);
  }
  return { kind: "map", origin: over.origin, entries };
}

/** The part of a tree at a path, or undefined where the tree ends earlier. */
export function at(tree: Tree | undefined, path: Path): Tree | undefined {
  let node = tree;
  for (const step of path) node = child(node, step);
  return node;
}

/** The deepest part of a tree on the way to a path: where to point when the path itself was never stated. */
export function deepest(tree: Tree, path: Path): Tree {
  let node = tree;
  for (const step of path) {
    const next = child(node, step);
    if (!next) break;
    node = next;
  }
  return node;
}

function child(node: Tree | undefined, step: string | number): Tree | undefined {
  if (node?.kind === "map") return node.entries.get(String(step));
  if (node?.kind === "list") return node.items[Number(step)];
  return undefined;
}

export function showOrigin(origin: Origin): string {
  return origin.kind === "file" ? `${showFile(origin.file)}:${origin.line}` : `override \`${origin.text}\``;
}

/** A path as a person at the prompt would type it: relative when it is below the working directory. */
export function showFile(file: string): string {
  const short = relative(process.cwd(), file);
  return short === "" || short.startsWith("..") ? file : short;
}

/** `rl.groupSize`, `eval.benchmarks[0].path`. */
export function showPath(path: Path): string {
  return path.map((step, i) => (typeof step === "number" ? `[${step}]` : i ? `.${step}` : step)).join("");
}
