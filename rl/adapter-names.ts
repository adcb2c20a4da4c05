import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { makeFolder, writeFileAtomic } from "../core/files.ts";

/** Names of a run's adapters on servers. No two hold the same weights, ever: a server may cache by name alone. */
export interface AdapterNames {
  /** The run, as its names begin. */
  readonly run: string;
  /** How often the run has been started, from 1. */
  readonly incarnation: number;
  /**
   * `attempt` counts from 0: a load that failed may have left its name somewhere. `adapter` is which of a policy of several
   * it is: lower-case letters, digits and dashes.
   */
  of(version: number, attempt: number, adapter?: string): string;
  /** The synthetic adapter. */
  probe(attempt: number): string;
  /** Did this run give the name, in this or an earlier incarnation? */
  ours(name: string): boolean;
}

const file = "names.json";
const schema = z.object({ run: z.string(), incarnation: z.int().min(1), folder: z.string() });

/**
 * Claims the names of the next incarnation, on disk before any is used. A run is told apart from others of its name by
 * a random suffix, which no seed could give; it stays with the folder, and a copy of the folder gets its own.
 */
export function claimNames(folder: string, name: string): AdapterNames {
  makeFolder(folder);
  const here = realpathSync(folder);
  const earlier = readClaim(join(folder, file));
  const known = earlier?.folder === here ? earlier : undefined;
  const run = known?.run ?? `${name}-${randomBytes(4).toString("hex")}`;
  const incarnation = (known?.incarnation ?? 0) + 1;
  writeFileAtomic(join(folder, file), `${JSON.stringify({ run, incarnation, folder: here })}\n`);
  const prefix = `${run}-r${incarnation}`;
  const suffix = (attempt: number) => (attempt > 0 ? `.${attempt}` : "");
  // Whole names only: the run `a` must not take those of a run `a-r1`.
  const literal = run.replace(/[^A-Za-z0-9_-]/g, "\\$&");
  // What goes on with an incarnation is the name of another run.
  const adapter = "(?!.*-r\\d+-(v\\d|probe))-[a-z][a-z0-9-]*";
  const own = new RegExp(`^${literal}-r\\d+-(v\\d+(${adapter})?|probe)(\\.\\d+)?$`);
  return {
    run,
    incarnation,
    of: (version, attempt, adapter) =>
      `${prefix}-v${version}${adapter === undefined ? "" : `-${adapter}`}${suffix(attempt)}`,
    probe: (attempt) => `${prefix}-probe${suffix(attempt)}`,
    ours: (other) => own.test(other),
  };
}

/** A file that cannot be read is as none: a new suffix is always safe. */
function readClaim(path: string): z.infer<typeof schema> | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return schema.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
  } catch {
    return undefined;
  }
}
