import type { Context } from "hono";
import type { z } from "zod";
import { ApiError } from "./api-error.ts";

type Body = Readonly<Record<string, unknown>>;

/** The request's JSON, parsed. Fields that the schema does not know are passed over. @throws ApiError, vLLM's 400 */
export async function readBody<T>(c: Context, schema: z.ZodType<T>): Promise<{ raw: Body; parsed: T }> {
  const type = c.req.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw invalid(["Unsupported Media Type: Only 'application/json' is allowed"], null);
  const raw = parseJson(await c.req.text());
  const result = schema.safeParse(raw);
  if (result.success) return { raw: raw as Body, parsed: result.data };
  const issues = result.error.issues.map((issue) => ({
    loc: location(issue.path),
    ...described(issue, raw),
  }));
  const lines = issues.map(
    ({ type: kind, loc, msg, input }) =>
      `{'type': '${kind}', 'loc': '${loc}', 'msg': '${msg}', 'input': ${input}}`,
  );
  throw invalid(lines, issues[0]?.loc ?? null);
}

/** A field that is of the right type and still never right. */
export function invalidField(name: string, message: string): ApiError {
  return invalid([`{'type': 'value_error', 'loc': 'body', 'msg': 'Value error, ${message}'}`], name);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = (error as Error).message.replaceAll("'", '"');
    throw invalid(
      [`{'type': 'json_invalid', 'loc': 'body', 'msg': 'JSON decode error', 'ctx': {'error': '${why}'}}`],
      null,
    );
  }
}

function invalid(lines: readonly string[], param: string | null): ApiError {
  const count = `${lines.length} validation error${lines.length === 1 ? "" : "s"}`;
  return new ApiError(400, "Bad Request", `${count}:\n${lines.map((line) => `  ${line}`).join("\n")}`, param);
}

const location = (path: readonly PropertyKey[]) => ["body", ...path].map(String).join(".");

/** Our parser's complaint in pydantic's words. */
function described(issue: z.core.$ZodIssue, raw: unknown): { type: string; msg: string; input: string } {
  const parent = issue.path.slice(0, -1).reduce<unknown>(inside, raw);
  const value = issue.path.reduce<unknown>(inside, raw);
  if (value === undefined && issue.path.length > 0)
    return { type: "missing", msg: "Field required", input: `'${containerName(parent)}'` };
  const input = pythonOf(value);
  if (issue.code === "custom")
    return { type: String(issue.params?.type ?? "value_error"), msg: issue.message, input };
  if (issue.code === "invalid_type" && issue.expected in expectations) {
    const [type, msg] = expectations[issue.expected] as readonly [string, string];
    return { type, msg, input };
  }
  return { type: issue.code, msg: issue.message.replaceAll("'", '"'), input };
}

const expectations: Readonly<Record<string, readonly [string, string]>> = {
  object: ["model_attributes_type", "Input should be a valid dictionary or object to extract fields from"],
  array: ["list_type", "Input should be a valid list"],
  record: ["dict_type", "Input should be a valid dictionary"],
};

function inside(value: unknown, key: PropertyKey): unknown {
  return value !== null && typeof value === "object"
    ? (value as Record<PropertyKey, unknown>)[key]
    : undefined;
}

function containerName(value: unknown): string {
  if (Array.isArray(value)) return `<list of ${value.length} items>`;
  return `<dict of ${Object.keys(value ?? {}).length} items>`;
}

/** As Python prints it; containers by their size alone. */
function pythonOf(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "object" ? `'${containerName(value)}'` : String(value);
}
