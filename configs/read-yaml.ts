import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar as YamlScalar,
} from "yaml";
import { ConfigError, ForagerError } from "../core/errors.ts";
import type { Origin, Scalar, Tree } from "./tree.ts";

/** An alias that repeats itself a billion times is a small file; nobody's config has this many values. */
const maxValues = 20_000;

/**
 * Reads strict YAML 1.2 into a tree with origins. Refused: duplicate keys, several documents, unknown tags,
 * keys that are not plain strings or numbers, NaN and Infinity, integers a double cannot hold.
 * @param originAt where a line (1-based) of this text comes from
 * @throws ConfigError
 */
export function readYaml(
  text: string,
  originAt: (line: number) => Origin,
  show: (line: number) => string,
): Tree {
  const lines = new LineCounter();
  const lineOf = (node: Node | null | undefined) => (node?.range ? lines.linePos(node.range[0]).line : 1);
  try {
    const document = parseDocument(text, {
      version: "1.2",
      schema: "core",
      merge: false,
      uniqueKeys: true,
      prettyErrors: true,
      lineCounter: lines,
    });
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem)
      throw new ConfigError({
        what: "not valid YAML",
        where: show(problem.linePos?.[0].line ?? 1),
        got: problem.message.split(/ at line \d+/)[0]!,
        next: "Mend the YAML at this line.",
        ...(problem.code === "DUPLICATE_KEY" && { next: "Keep one of the two keys." }),
        ...(problem.code === "MULTIPLE_DOCS" && { next: "Remove the `---`: a config is one document." }),
      });

    let values = 0;
    const build = (node: Node | null | undefined, line: number, above: readonly Node[]): Tree => {
      if (++values > maxValues)
        throw new ConfigError({
          what: "the config is too large",
          where: show(line),
          expected: `at most ${maxValues} values`,
        });
      const origin = originAt(line);
      if (node === null || node === undefined) return { kind: "scalar", origin, value: null };
      if (isAlias(node)) {
        const target = node.resolve(document);
        if (!target || above.includes(target))
          throw new ConfigError({
            what: `alias \`*${node.source}\` points to itself or nowhere`,
            where: show(line),
          });
        return build(target, line, [...above, target]);
      }
      if (isSeq(node)) {
        const items = node.items as (Node | null)[];
        return {
          kind: "list",
          origin,
          items: items.map((item) => build(item, item ? lineOf(item) : line, [...above, node])),
        };
      }
      if (isMap(node)) {
        const entries = new Map<string, Tree>();
        for (const pair of node.items) {
          const keyNode = pair.key as Node | null;
          const keyLine = keyNode ? lineOf(keyNode) : line;
          const key = keyOf(keyNode, show(keyLine));
          if (entries.has(key))
            throw new ConfigError({ what: `key \`${key}\` is there twice`, where: show(keyLine) });
          entries.set(key, build(pair.value as Node | null, keyLine, [...above, node]));
        }
        return { kind: "map", origin, entries };
      }
      return { kind: "scalar", origin, value: scalarOf(node, show(line)) };
    };
    return build(document.contents as Node | null, 1, []);
  } catch (cause) {
    if (cause instanceof ForagerError) throw cause;
    // The YAML library gives up on some hostile input (thousands of nested brackets) with an error of its own.
    throw new ConfigError({ what: "not readable as YAML", where: show(1), got: String(cause), cause });
  }
}

function keyOf(node: Node | null, where: string): string {
  const value = node && isScalar(node) ? node.value : undefined;
  if (value === "<<")
    throw new ConfigError({
      what: "merge keys (`<<`) are not part of YAML 1.2",
      where,
      next: "Use `extends: other.yaml`, or repeat the keys.",
    });
  if ((typeof value !== "string" && typeof value !== "number") || value === "__proto__")
    throw new ConfigError({
      what: "a key that is not a plain string",
      where,
      expected: "keys such as `groupSize:`",
    });
  return String(value);
}

function scalarOf(node: Node, where: string): Scalar {
  const { value, source } = node as YamlScalar;
  if (value === undefined) return null;
  if (typeof value === "number" && !Number.isFinite(value))
    throw new ConfigError({
      what: "a number that is not finite",
      where,
      got: source ?? String(value),
      expected: "a finite number",
    });
  if (
    typeof value === "number" &&
    !Number.isSafeInteger(value) &&
    /^[-+]?\d+$/.test(source ?? "") &&
    String(value) !== (source as string).replace(/^\+?0*(?=\d)/, "")
  )
    throw new ConfigError({
      what: "an integer too large to be exact",
      where,
      got: source ?? String(value),
      expected: `an integer up to ${Number.MAX_SAFE_INTEGER}`,
      next: "Put it in quotes if it is a name.",
    });
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return value;
  throw new ConfigError({
    what: "a value that is not text, a number, true, false or null",
    where,
    got: String(value),
  });
}
