import { z } from "zod";

/** JSON values as pydantic takes them: a number may come as text, and a refusal has pydantic's name and words. */

type Refuse = (type: string, message: string) => never;

function lax<T>(read: (value: unknown, refuse: Refuse) => T) {
  return z.unknown().transform((value, ctx): T => {
    const refuse = ((type, message) => {
      ctx.issues.push({ code: "custom", message, input: value, params: { type } });
      return z.NEVER;
    }) as Refuse;
    return read(value, refuse);
  });
}

export const int = lax((value, refuse) => {
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "string")
    return /^\s*[+-]?\d+\s*$/.test(value)
      ? Number(value)
      : refuse("int_parsing", "Input should be a valid integer, unable to parse string as an integer");
  if (typeof value !== "number") return refuse("int_type", "Input should be a valid integer");
  return Number.isInteger(value)
    ? value
    : refuse("int_from_float", "Input should be a valid integer, got a number with a fractional part");
});

export const float = lax((value, refuse) => {
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "string")
    return value.trim() !== "" && Number.isFinite(Number(value))
      ? Number(value)
      : refuse("float_parsing", "Input should be a valid number, unable to parse string as a number");
  return typeof value === "number" ? value : refuse("float_type", "Input should be a valid number");
});

const truths: Readonly<Record<string, boolean>> = {
  ...{ true: true, "1": true, yes: true, on: true, t: true, y: true },
  ...{ false: false, "0": false, no: false, off: false, f: false, n: false },
};

export const bool = lax((value, refuse) => {
  if (typeof value === "boolean") return value;
  if (value === 0 || value === 1) return value === 1;
  const known = typeof value === "string" ? truths[value.trim().toLowerCase()] : undefined;
  return known ?? refuse("bool_parsing", "Input should be a valid boolean, unable to interpret input");
});

export const text = lax((value, refuse) =>
  typeof value === "string" ? value : refuse("string_type", "Input should be a valid string"),
);

/** Absent and null give the default. */
export function orElse<T, D>(schema: z.ZodType<T>, value: D) {
  return schema.nullish().transform((given): T | D => given ?? value);
}
