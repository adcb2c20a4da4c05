import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Loaded } from "../configs/load.ts";
import type { LoadedAblation } from "../configs/load-ablation.ts";
import { loadConfig } from "../configs/load-config.ts";
import { printConfig } from "../configs/print.ts";
import type { Config } from "../configs/schema.ts";
import { CheckpointError, ConfigError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import { type ConfigChange, configChanges } from "../eval/ablation-table.ts";
import { readJson } from "../track/run-folder.ts";

const planSchema = z.strictObject({
  name: z.string(),
  what: z.enum(["train", "evaluate"]),
  policy: z.string().optional(),
  sampler: z.string().optional(),
  step: z.int().optional(),
  metric: z.string(),
  atOnce: z.int().min(1),
  seeds: z.array(z.int()).min(1),
  /** The base first. */
  cells: z.array(z.string()).min(2),
});
/** `plan.json`: what an ablation is; the config of each cell stands beside its runs. */
export type AblationPlan = z.infer<typeof planSchema>;

/** One cell under one seed: a run or an evaluation. */
export interface Job {
  readonly cell: string;
  readonly seed: number;
  /** Where its run or its evaluations go. */
  readonly folder: string;
  readonly loaded: Loaded<Config>;
}

const planPath = (out: string) => join(out, "plan.json");
export const cellFolder = (out: string, cell: string): string => join(out, "cells", cell);
export const jobFolder = (out: string, cell: string, seed: number): string =>
  join(cellFolder(out, cell), `seed-${seed}`);

/** The plan with its seeds: three of a run, the base's own of an evaluation. */
export function planOf({ spec, cells }: LoadedAblation): AblationPlan {
  const { name, what, policy, sampler, step, metric, atOnce } = spec;
  const seeds = spec.seeds ?? (what === "train" ? [1, 2, 3] : [cells[0].loaded.config.eval.seed]);
  return {
    ...{ name, what, metric, atOnce, seeds: [...seeds] },
    ...(policy === undefined ? {} : { policy }),
    ...(sampler === undefined ? {} : { sampler }),
    ...(step === undefined ? {} : { step }),
    cells: cells.map((cell) => cell.name),
  };
}

/** @throws ConfigError when something is there already */
export function checkNewAblation(out: string): void {
  // Without a plan, cells are what a start that was cut short left.
  if (!existsSync(out) || readdirSync(out).every((name) => name === "cells")) return;
  const ours = existsSync(planPath(out));
  throw new ConfigError({
    what: ours ? "there is an ablation in this folder already" : "the folder is not empty",
    where: out,
    next: ours
      ? `Continue it with \`forager ablate --resume ${out}\`, or name another folder with --out.`
      : "Name another with --out.",
  });
}

/** Writes the plan, and each cell's config without its seed; plan.json comes last. */
export function writeAblation(out: string, plan: AblationPlan, { cells }: LoadedAblation): void {
  for (const { name, loaded } of cells)
    writeFileAtomic(join(cellFolder(out, name), "config.yaml"), printConfig(loaded.config, loaded.stated));
  writeFileAtomic(planPath(out), `${JSON.stringify(plan, null, 2)}\n`);
}

/** @throws CheckpointError for a folder that is no ablation */
export function readPlan(out: string): AblationPlan {
  if (!existsSync(planPath(out)))
    throw new CheckpointError({
      what: "not an ablation",
      where: out,
      expected: "a folder with plan.json",
      next: "Give the folder that `forager ablate` printed.",
    });
  const parsed = planSchema.safeParse(readJson(planPath(out)));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new CheckpointError({
    what: "plan.json is not ours",
    where: planPath(out),
    got: `${issue?.path.join(".")}: ${issue?.message}`,
    next: "Restore it, or start the ablation anew with another --out.",
  });
}

/** What a cell changes; names, seeds and folders differ by themselves. */
export function cellChanges(
  { run: _base, ...base }: Config,
  { run: _cell, ...cell }: Config,
): ConfigChange[] {
  return configChanges(base, cell);
}

/** Every cell under every seed, in the order in which they run: seed by seed, the base first. */
export function jobsOf(out: string, { name, what, seeds, cells }: AblationPlan): Job[] {
  return seeds.flatMap((seed) =>
    cells.map((cell): Job => {
      const folder = jobFolder(out, cell, seed);
      const loaded = loadConfig(join(cellFolder(out, cell), "config.yaml"), [
        `${what === "train" ? "run" : "eval"}.seed=${seed}`,
        `run.dir=${JSON.stringify(folder)}`,
        `run.name=${`${name}-${cell}-${seed}`.replace(/[^A-Za-z0-9._-]+/g, "-")}`,
      ]);
      return { cell, seed, folder, loaded };
    }),
  );
}
