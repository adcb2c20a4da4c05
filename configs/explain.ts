import type { z } from "zod";
import type { Complaint } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import { allPaths, type JsonSchema, keysAt } from "./json-schema.ts";
import { at, deepest, type Path, plain, showOrigin, showPath, type Tree } from "./tree.ts";

type Issue = z.core.$ZodIssue;

/** What is wrong with a config, as one complaint: the first problem in full, the others named. */
export function explain(issues: readonly Issue[], tree: Tree, schema: JsonSchema): Complaint {
  // A misspelt required key is two issues, missing and unknown: the unknown one has the answer.
  const complaints = [...issues]
    .sort((a, b) => Number(b.code === "unrecognized_keys") - Number(a.code === "unrecognized_keys"))
    .flatMap((issue) => complain(issue, tree, schema, []));
  const [first, ...others] = complaints as [Complaint, ...Complaint[]];
  if (others.length === 0) return first;
  const rest = others.map((other) => `${other.where}: ${other.what}`).join("; ");
  return { ...first, next: `${first.next ?? "Correct it."} Also: ${rest}.` };
}

function complain(issue: Issue, tree: Tree, schema: JsonSchema, above: Path): Complaint[] {
  const path = [...above, ...(issue.path as Path)];
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey(key, path, tree, schema));
  const node = at(tree, path);
  const where = whereOf(path, tree);
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const branch = likeliest(issue.errors);
    if (branch) return branch.flatMap((inner) => complain(inner, tree, schema, path));
  }
  if (!node && issue.code !== "custom")
    return [
      {
        what: `\`${showPath(path)}\` is missing`,
        where,
        expected: expectedOf(issue),
        next: `Add \`${showPath(path)}\`.`,
      },
    ];
  if (issue.code === "custom")
    return [{ what: issue.message, where, ...(node?.kind === "scalar" && { got: show(plain(node)) }) }];
  const value = node && plain(node);
  const expected = expectedOf(issue);
  const key = `\`${showPath(path)}\``;
  const plainly = expected.length <= 40 ? `Set ${key} to ${expected}.` : `Correct ${key}.`;
  return [
    {
      what: `${key} is wrong`,
      where,
      expected,
      got: show(value),
      next: advice(issue, value) ?? plainly,
    },
  ];
}

const whereOf = (path: Path, tree: Tree) => showOrigin(deepest(tree, path).origin);

function unknownKey(key: string, path: Path, tree: Tree, schema: JsonSchema): Complaint {
  const full = [...path, key];
  const known = keysAt(schema, plain(tree), path);
  const close = nearest(key, known);
  const elsewhere = allPaths(schema).find((other) => other.at(-1) === key);
  const next = close
    ? `Did you mean \`${close}\`?`
    : elsewhere
      ? `Did you mean \`${showPath(elsewhere)}\`?`
      : "Remove it, or correct the name.";
  return {
    what: `unknown key \`${showPath(full)}\``,
    where: whereOf(full, tree),
    expected: known.length > 0 ? `one of ${known.join(", ")}` : "no keys here",
    next,
  };
}

/** Of a union's branches, the one whose complaints lie deepest, then the one with the fewest; undefined when all fail at once. */
function likeliest(errors: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const depth = (issues: readonly Issue[]) => Math.max(...issues.map((issue) => issue.path.length));
  const kept = errors.filter(
    (issues) =>
      depth(issues) > 0 ||
      issues.some((issue) => issue.code !== "invalid_type" && issue.code !== "invalid_value"),
  );
  return kept.sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0];
}

function expectedOf(issue: Issue): string {
  // What the schema says in its own words is better than what can be said of the rule.
  if (!/^(Too |Invalid|Unrecognized|Expected)/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      return typeNames[issue.expected] ?? issue.expected;
    case "invalid_value":
      return oneOf(issue.values);
    case "invalid_union":
      if ("options" in issue && Array.isArray(issue.options)) return oneOf(issue.options);
      return [...new Set(issue.errors.flat().map(expectedOf))].join(" or ") || "another value";
    case "too_small":
      return bound(issue.origin, issue.inclusive ? "at least" : "more than", issue.minimum);
    case "too_big":
      return bound(issue.origin, issue.inclusive ? "at most" : "less than", issue.maximum);
    case "not_multiple_of":
      return `a multiple of ${issue.divisor}`;
    case "invalid_format":
      return issue.format === "regex" ? `text that matches ${issue.pattern}` : issue.format;
    default:
      return issue.message;
  }
}

const typeNames: Readonly<Record<string, string>> = {
  object: "a map",
  record: "a map",
  array: "a list",
  string: "text",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  null: "null",
};

const oneOf = (values: readonly unknown[]) =>
  (values.length > 1 ? "one of " : "") + values.map(show).join(", ");

function bound(origin: string, relation: string, limit: number | bigint): string {
  if (origin === "string")
    return limit === 1 ? "text that is not empty" : `text of ${relation} ${limit} characters`;
  if (origin === "array" || origin === "set") return `a list of ${relation} ${limit} items`;
  return `${relation} ${limit}`;
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  const short = text.length > 80 ? `${text.slice(0, 77)}...` : text;
  return typeof value === "string" && value !== "" && !Number.isNaN(Number(value))
    ? `the text ${short}`
    : short;
}

function advice(issue: Issue, value: unknown): string | undefined {
  const wantsNumber =
    issue.code === "invalid_type" && (issue.expected === "number" || issue.expected === "int");
  if (wantsNumber && typeof value === "string" && value !== "" && !Number.isNaN(Number(value)))
    return "Remove the quotes.";
  const wantsBoolean = issue.code === "invalid_type" && issue.expected === "boolean";
  if (wantsBoolean && typeof value === "string" && /^(yes|no|on|off)$/i.test(value))
    return "YAML 1.2 writes true and false.";
  if (value === null) return "Remove the key to take the default.";
  const values =
    issue.code === "invalid_value"
      ? issue.values
      : "options" in issue && Array.isArray(issue.options)
        ? issue.options
        : [];
  const close =
    typeof value === "string" &&
    nearest(
      value,
      values.filter((one): one is string => typeof one === "string"),
    );
  return close ? `Did you mean ${JSON.stringify(close)}?` : undefined;
}
