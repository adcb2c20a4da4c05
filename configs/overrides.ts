import { ConfigError } from "../core/errors.ts";
import { readYaml } from "./read-yaml.ts";
import { type Origin, type Path, showOrigin, showPath, type Tree } from "./tree.ts";

/** A value to be set at a path. */
export interface Override {
  readonly path: Path;
  readonly value: Tree;
}

/** `rl.groupSize=16` → its path and value. The value is YAML; nothing after `=` is null. */
export function parseOverride(text: string): Override {
  const origin: Origin = { kind: "override", text };
  const where = `override \`${text}\``;
  const split = text.indexOf("=");
  const path = parsePath(text.slice(0, Math.max(0, split)));
  if (path === undefined)
    throw new ConfigError({
      what: "not an override",
      where,
      expected: "key.path=value, such as rl.groupSize=16",
      ...(split < 0 &&
        /\.ya?ml$/.test(text) && { next: "Name one config; to combine files, use `extends:` in it." }),
    });
  const value = readYaml(
    text.slice(split + 1),
    () => origin,
    () => where,
  );
  return { path, value };
}

/** `rl.groupSize` → its steps; undefined where it is no path. */
export function parsePath(text: string): string[] | undefined {
  const path = text.trim().split(".");
  return path.some((step) => step === "" || step === "__proto__") ? undefined : path;
}

/** The tree with one value set; maps on the way are made, list items must exist. */
export function setAt(tree: Tree, path: Path, value: Tree, done: Path = []): Tree {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  const here = [...done, step];
  const fail = (what: string, expected: string) => {
    const where = showOrigin(value.origin);
    return new ConfigError({ what, where, expected });
  };
  const empty: Tree = { kind: "map", origin: value.origin, entries: new Map() };
  if (tree.kind === "list") {
    const index = Number(step);
    const item = tree.items[index];
    if (!item)
      throw fail(`no item \`${step}\` in the list \`${showPath(done)}\``, `0 to ${tree.items.length - 1}`);
    return { ...tree, items: tree.items.with(index, setAt(item, rest, value, here)) };
  }
  if (tree.kind === "scalar" && tree.value !== null)
    throw fail(`\`${showPath(done)}\` is a single value and has no keys`, "the path of a key that exists");
  const entries = new Map(tree.kind === "map" ? tree.entries : []);
  entries.set(String(step), setAt(entries.get(String(step)) ?? empty, rest, value, here));
  return { kind: "map", origin: tree.origin, entries };
}
