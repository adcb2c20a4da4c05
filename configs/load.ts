import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { z } from "zod";
import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import { explain } from "./explain.ts";
import { includeFiles, resolveNamed, resolvePath, resolvePaths, shippedNames } from "./file-paths.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import { type Override, parseOverride, setAt } from "./overrides.ts";
import { readYaml } from "./read-yaml.ts";
import { merge, type Origin, plain, showFile, showOrigin, type Tree } from "./tree.ts";

export interface Loaded<T> {
  /** Checked, defaults filled in, paths absolute. */
  readonly config: T;
  /** What was stated and where; what is not in it is a default. */
  readonly stated: Tree;
  /** Every file read, the named one first. */
  readonly files: readonly string[];
}

const maxBytes = 1_000_000;

/**
 * Loads a strict YAML config: `extends`, then the file itself, then the overrides, each over the one before.
 * @param path a YAML file, or `forager:NAME` for a shipped one, or a shipped one's bare name
 * @param overrides `key.path=value`, the value in YAML; or parsed ones, which may stand in a file
 * @throws ConfigError with file:line for the first thing that is wrong
 */
export function load<S extends z.ZodType>(
  path: string,
  overrides: readonly (string | Override)[],
  schema: S,
): Loaded<z.output<S>> {
  const files: string[] = [];
  const file = resolveNamed(path);
  const json = jsonSchemaOf(schema);
  const include = (within: Tree) =>
    includeFiles(within, [json], (path, origin) => readFile(path, [], origin, files));
  // Before the overrides, which may reach into what is included, and after them, as they may name files too.
  let tree = include(readFile(file, [], undefined, files));
  for (const given of overrides) {
    const { path, value } = typeof given === "string" ? parseOverride(given) : given;
    if (path[0] === "extends")
      throw new ConfigError({
        what: "`extends` cannot be an override",
        where: showOrigin(value.origin),
        next: "Write it in the file.",
      });
    tree = setAt(tree, path, value);
  }
  return { ...check(include(tree), schema), files };
}

/** A config that is not in a file: a default run, a test. */
export function check<S extends z.ZodType>(tree: Tree, schema: S): { config: z.output<S>; stated: Tree } {
  const json = jsonSchemaOf(schema);
  const stated = resolvePaths(tree, [json]);
  const parsed = schema.safeParse(plain(stated));
  if (!parsed.success) throw new ConfigError(explain(parsed.error.issues, tree, json));
  return { config: parsed.data, stated };
}

function readFile(file: string, chain: readonly string[], from: Origin | undefined, files: string[]): Tree {
  const by = from ? { where: showOrigin(from) } : { where: showFile(file) };
  if (chain.includes(file))
    throw new ConfigError({
      what: "`extends` goes in a circle",
      ...by,
      got: [...chain, file].map(showFile).join(" → "),
    });
  if (!files.includes(file)) files.push(file);
  const text = readText(file, from);
  const tree = readYaml(
    text,
    (line) => ({ kind: "file", file, line }),
    (line) => `${showFile(file)}:${line}`,
  );
  if (tree.kind === "scalar" && tree.value === null)
    return { kind: "map", origin: tree.origin, entries: new Map() };
  if (tree.kind !== "map")
    throw new ConfigError({
      what: "a config is a map of sections",
      where: showFile(file),
      got: `a ${tree.kind}`,
      expected: "`run:`, `rl:`, …",
    });
  const own: Tree = { ...tree, entries: new Map([...tree.entries].filter(([key]) => key !== "extends")) };
  const bases = basesOf(tree.entries.get("extends")).map(({ path, origin }) =>
    readFile(resolvePath(path, origin), [...chain, file], origin, files),
  );
  return [...bases, own].reduce(merge);
}

function basesOf(node: Tree | undefined): { path: string; origin: Origin }[] {
  if (!node) return [];
  return (node.kind === "list" ? node.items : [node]).map((item) => {
    if (item.kind !== "scalar" || typeof item.value !== "string" || item.value === "")
      throw new ConfigError({
        what: "`extends` is wrong",
        where: showOrigin(item.origin),
        expected: "a YAML file, or a list of them",
      });
    return { path: item.value, origin: item.origin };
  });
}

function readText(file: string, from: Origin | undefined): string {
  const where = from ? `${showOrigin(from)}: ${showFile(file)}` : showFile(file);
  if (!existsSync(file)) throw new ConfigError({ what: "config not found", where, ...suggestion(file) });
  const info = statSync(file);
  if (!info.isFile()) {
    const inside = join(file, "config.yaml");
    const next = existsSync(inside) ? { next: `Did you mean \`${showFile(inside)}\`?` } : {};
    throw new ConfigError({ what: "not a file", where, expected: "a YAML file", ...next });
  }
  if (info.size > maxBytes)
    throw new ConfigError({
      what: "too large for a config",
      where,
      got: `${info.size} bytes`,
      expected: `at most ${maxBytes}`,
    });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch (cause) {
    const got = cause instanceof TypeError ? "bytes that are not UTF-8" : String((cause as Error).message);
    throw new ConfigError({ what: "cannot read the config", where, got, cause });
  }
}

function suggestion(file: string): { next: string } {
  const folder = dirname(resolve(file));
  const inFolder = existsSync(folder) ? readdirSync(folder).filter((name) => /\.ya?ml$/.test(name)) : [];
  const close = nearest(basename(file), inFolder) ?? nearest(basename(file), shippedNames());
  return {
    next: close
      ? `Did you mean \`${close}\`?`
      : `Check the path; shipped ones are ${shippedNames().join(", ")}.`,
  };
}
