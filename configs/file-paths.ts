import { existsSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { packageRoot } from "../core/package-root.ts";
import { fileMark, pathMark } from "../core/path-schema.ts";
import { branches, type JsonSchema, step } from "./json-schema.ts";
import type { Origin, Tree } from "./tree.ts";
import { plain } from "./tree.ts";

/** Shipped files are named `forager:base/dmi.yaml`: configs/ of the installed package. */
export const shipped = "forager:";

/** A path as stated somewhere → an absolute one: files state paths relative to themselves. */
export function resolvePath(path: string, origin: Origin): string {
  if (path.startsWith(shipped)) return join(packageRoot(), "configs", path.slice(shipped.length));
  return resolve(origin.kind === "file" ? dirname(origin.file) : process.cwd(), path);
}

/** A config as a user names it: a path, `forager:NAME.yaml`, or a shipped one's bare name where no file has it. */
export function resolveNamed(path: string): string {
  const own = resolvePath(path, { kind: "override", text: path });
  const ours = join(packageRoot(), "configs", `${path}.yaml`);
  return /^[a-z][a-z0-9-]*$/u.test(path) && !existsSync(own) && existsSync(ours) ? ours : own;
}

/** Names that `resolveNamed` knows. */
export const shippedNames = (): string[] =>
  readdirSync(join(packageRoot(), "configs"))
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => name.slice(0, -".yaml".length));

/** The tree with every value that the schema marks as a path made absolute. */
export function resolvePaths(tree: Tree, schemas: readonly JsonSchema[]): Tree {
  const value = plain(tree);
  const here = schemas.flatMap((schema) => branches(schema, value));
  if (tree.kind === "list")
    return {
      ...tree,
      items: tree.items.map((item, i) =>
        resolvePaths(
          item,
          here.flatMap((s) => step(s, value, i)),
        ),
      ),
    };
  if (tree.kind === "map")
    return {
      ...tree,
      entries: new Map(
        [...tree.entries].map(([key, below]) => [
          key,
          resolvePaths(
            below,
            here.flatMap((s) => step(s, value, key)),
          ),
        ]),
      ),
    };
  return typeof tree.value === "string" && isPath(tree.value, here)
    ? { ...tree, value: resolvePath(tree.value, tree.origin) }
    : tree;
}

/**
 * The tree with what stands in files of its own: a text where the schema says that a YAML file may hold the value is
 * replaced by that file's content.
 * @param read a file's content as a tree; `origin` says where its name was stated
 */
export function includeFiles(
  tree: Tree,
  schemas: readonly JsonSchema[],
  read: (path: string, origin: Origin) => Tree,
): Tree {
  const value = plain(tree);
  const below = (key: string | number) => schemas.flatMap((schema) => step(schema, value, key));
  if (tree.kind === "list")
    return { ...tree, items: tree.items.map((item, i) => includeFiles(item, below(i), read)) };
  if (tree.kind === "map") {
    const entries = [...tree.entries].map(
      ([key, item]) => [key, includeFiles(item, below(key), read)] as const,
    );
    return { ...tree, entries: new Map(entries) };
  }
  const { value: text, origin } = tree;
  return typeof text === "string" && text !== "" && schemas.some((schema) => schema[fileMark] === true)
    ? read(resolvePath(text, origin), origin)
    : tree;
}

/** Marked as a path, and neither one of the fixed words allowed in its place nor a URL. */
function isPath(value: string, schemas: readonly JsonSchema[]): boolean {
  const isWord = schemas.some((schema) => schema.const === value || schema.enum?.includes(value));
  return (
    schemas.some((schema) => schema[pathMark] === true) && !isWord && !/^[a-z][a-z0-9+.-]*:\/\//i.test(value)
  );
}
