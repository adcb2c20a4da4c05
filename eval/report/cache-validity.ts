import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { readJson } from "./stored-evaluations.ts";
import type { CacheValidity } from "./team-cost.ts";

const shape = z.looseObject({ perturbed: z.number(), valid: z.number() });

/** What `forager export cache` counted last in this run, where it was left in its place; undefined for none of ours. */
export function cacheValidity(folder: string): CacheValidity | undefined {
  const path = join(folder, "exports", "cache.jsonl.summary.json");
  if (!existsSync(path)) return undefined;
  const { data } = shape.safeParse(readJson(path));
  return data && { tried: data.perturbed, valid: data.valid };
}
