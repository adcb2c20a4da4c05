import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { DataError } from "../core/errors.ts";

/** Reads one file of a model folder; undefined when it is not there. Throws DataError when it cannot be read. */
export function readModelFile(folder: string, name: string): string | undefined {
  const path = join(folder, name);
  if (!existsSync(path)) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new DataError({ where: path, what: "cannot read the file", got: String(cause), cause });
  }
}

/** Reads one JSON file of a model folder; undefined when it is not there. Throws DataError when malformed. */
export function readModelJson<T>(folder: string, name: string, schema: z.ZodType<T>): T | undefined {
  const text = readModelFile(folder, name);
  if (text === undefined) return undefined;
  const where = join(folder, name);
  const next = "Fetch the file again; a Git LFS pointer or a cut download looks like this.";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DataError({ where, what: "malformed JSON", got: (cause as Error).message, next, cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const key = issue?.path.join(".") ?? "";
  throw new DataError({ where, what: `unexpected content at "${key}"`, got: issue?.message ?? "?", next });
}

const tokenName = z.union([z.string(), z.looseObject({ content: z.string() }).transform((t) => t.content)]);

/** What we read of tokenizer_config.json. */
export const tokenizerConfigSchema = z.looseObject({
  bos_token: tokenName.nullish(),
  eos_token: tokenName.nullish(),
  pad_token: tokenName.nullish(),
  chat_template: z
    .union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))])
    .nullish(),
});

/** What we read of config.json and generation_config.json here. */
export const endIdsSchema = z.looseObject({
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
  pad_token_id: z.int().nullish(),
});
