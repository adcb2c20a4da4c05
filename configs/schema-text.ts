import { fileMark, pathMark } from "../core/path-schema.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import { configSchema } from "./schema.ts";

/** The JSON schema of a config file, for editors: `# yaml-language-server: $schema=…/configs/schema.json`. */
export function schemaText(): string {
  const schema = jsonSchemaOf(configSchema);
  const properties = {
    extends: {
      anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
      description:
        "YAML files this one builds on, relative to it; forager:NAME is a shipped one. Maps merge, lists are replaced.",
    },
    ...schema.properties,
  };
  // What a base file states need not be stated again, so nothing is required of one file alone.
  return `${JSON.stringify(withoutRequired({ ...schema, title: "Forager config", properties }), null, 2)}\n`;
}

/** Drops `required`, and marks of our own that mean nothing to an editor; what may stand in a file may be its name. */
function withoutRequired(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRequired);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(
    ([key, field]) => !(key === "required" && Array.isArray(field)) && key !== pathMark && key !== fileMark,
  );
  const plain = Object.fromEntries(kept.map(([key, field]) => [key, withoutRequired(field)]));
  if (!(fileMark in value)) return plain;
  return {
    anyOf: [{ type: "string", description: "YAML file that holds it, relative to this one." }, plain],
  };
}
