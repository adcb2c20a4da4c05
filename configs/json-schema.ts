import { z } from "zod";
import type { Path } from "./tree.ts";

/** The part of JSON Schema that zod writes and this folder reads. */
export interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly [key: string]: unknown;
}

const made = new WeakMap<z.ZodType, JsonSchema>();

/** What may be written in YAML for a zod schema (before defaults are filled in); made once. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const known =
    made.get(schema) ?? (z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema);
  made.set(schema, known);
  return known;
}

/** The schemas a value may follow: the branches of a union that its fixed keys (`kind: …`) do not rule out. */
export function branches(schema: JsonSchema, value: unknown): JsonSchema[] {
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  if (parts.length === 0) return [schema];
  const open = parts.filter((part) => fits(part, value));
  return (open.length > 0 ? open : parts).flatMap((part) => branches(part, value));
}

function fits(schema: JsonSchema, value: unknown): boolean {
  const map = value as Record<string, unknown> | null;
  if (typeof map !== "object" || map === null) return true;
  return Object.entries(schema.properties ?? {}).every(
    ([key, fixed]) => fixed.const === undefined || !(key in map) || map[key] === fixed.const,
  );
}

/** The schemas for the part of `value` at one step below `schema`. */
export function step(schema: JsonSchema, value: unknown, key: string | number): JsonSchema[] {
  return branches(schema, value)
    .map((branch) => below(branch, key))
    .filter((found) => found !== undefined);
}

function below(schema: JsonSchema, key: string | number): JsonSchema | undefined {
  if (typeof key === "number") return schema.prefixItems?.[key] ?? schema.items;
  const named = schema.properties?.[key];
  if (named) return named;
  return typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
}

/** The schemas for the part of `value` at a path. */
export function schemasAt(schema: JsonSchema, value: unknown, path: Path): JsonSchema[] {
  let here = [schema];
  let inside = value;
  for (const key of path) {
    here = here.flatMap((one) => step(one, inside, key));
    inside = (inside as Record<string | number, unknown> | null | undefined)?.[key];
  }
  return here.flatMap((one) => branches(one, inside));
}

/** Names allowed directly below a path. */
export function keysAt(schema: JsonSchema, value: unknown, path: Path): string[] {
  return [...new Set(schemasAt(schema, value, path).flatMap((one) => Object.keys(one.properties ?? {})))];
}

/** Every path of named keys in a schema, for "it belongs elsewhere". */
export function allPaths(schema: JsonSchema, above: readonly string[] = []): string[][] {
  return branches(schema, undefined).flatMap((branch) =>
    Object.entries(branch.properties ?? {}).flatMap(([key, below]) => [
      [...above, key],
      ...allPaths(below, [...above, key]),
    ]),
  );
}
