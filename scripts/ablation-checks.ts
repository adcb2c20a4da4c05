import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { LoadedAblation } from "../configs/load-ablation.ts";
import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import { cellLine } from "../eval/ablation-table.ts";
import { compareMetric } from "../eval/compare-metrics.ts";
import { type AblationPlan, cellChanges } from "./ablation-folder.ts";
import { episodeKey, warmUpKey } from "./ablation-keys.ts";
import type { Extensions } from "./extensions.ts";
import { checkPolicy } from "./open-policy.ts";
import type { Output } from "./output.ts";
import { checkSetup } from "./setup.ts";

/**
 * Everything that can be checked of every cell, before the first of them runs.
 * @throws the first cell's error, with the cell's name
 */
export async function checkJobs(
  plan: AblationPlan,
  { cells }: LoadedAblation,
  o: { output: Output; signal: AbortSignal; extensions?: Extensions },
): Promise<void> {
  compareMetric(plan.metric);
  checkWho(plan, o.extensions);
  const remote = cells.filter(({ loaded }) => loaded.config.endpoint !== undefined).length;
  if (plan.atOnce > 1 && remote < cells.length)
    throw new ConfigError({
      what: "cells that sample in this process share its cores, so they run one at a time",
      where: "atOnce",
      got: String(plan.atOnce),
      next: "Leave `atOnce` out, or name servers in `endpoint`.",
    });
  for (const { name, loaded } of cells) {
    o.signal.throwIfAborted();
    if (loaded.config.eval.benchmarks.length === 0)
      throw new ConfigError({
        what: `cell \`${name}\` names no benchmark, so there is nothing to compare`,
        where: "eval.benchmarks",
        next: "Add one to the base: set: { eval.benchmarks: [ … ] }.",
      });
    await checkSetup(loaded.config, { ...o, output: { ...o.output, warn() {} } }).catch((error: unknown) => {
      o.output.warn(`cell ${name}: ${(error as Error).message}`);
      throw error;
    });
  }
}

/** Who plays the cells of an evaluation: a policy of ours, or a sampler of the user's own. @throws ConfigError */
export function checkWho(
  { what, policy, sampler, step }: AblationPlan,
  extensions: Extensions | undefined,
): void {
  const given = policy === undefined ? "sampler" : "policy";
  if (what === "train" && (policy ?? sampler) !== undefined)
    throw new ConfigError({
      what: "cells that train start from their own model",
      where: given,
      next: "Set `what: evaluate`, or name the model as `set: { model.path: … }`.",
    });
  if (policy !== undefined && sampler !== undefined)
    throw new ConfigError({
      what: "two policies",
      where: "policy, sampler",
      next: "Leave one of them out.",
    });
  const names = Object.keys(extensions?.samplers ?? {});
  if (sampler !== undefined && !names.includes(sampler)) {
    const close = nearest(sampler, names);
    throw new ConfigError({
      what: `you have no sampler \`${sampler}\``,
      where: "sampler",
      expected:
        names.length > 0
          ? `one of yours: ${names.join(", ")}`
          : "a name given to defineForager({ samplers })",
      next: close
        ? `Did you mean \`${close}\`?`
        : "Run the ablation through your own defineForager(…).run, or name a model with `policy`.",
    });
  }
  // `policy` is a path, so a name in it has become one.
  const meant = policy === undefined || existsSync(policy) ? undefined : basename(policy);
  if (meant !== undefined && names.includes(meant))
    throw new ConfigError({
      what: `\`policy\` names a run, a checkpoint, a model or an adapter, and \`${meant}\` is a sampler of yours`,
      where: "policy",
      next: `Write \`sampler: ${meant}\` in its place.`,
    });
  checkPolicy(sampler ?? policy, { step, ...(extensions ? { extensions } : {}) });
}

/** What would run, for --dry-run. */
export function showPlan(plan: AblationPlan, { cells }: LoadedAblation): string {
  const [base] = cells;
  const groups = (key: (config: Config) => string) =>
    new Set(cells.map(({ loaded }) => key(loaded.config))).size;
  const ways = groups((config) => episodeKey(config, plan.what));
  const lines = cells.map(({ name, loaded }) =>
    cellLine({ name, changes: cellChanges(base.loaded.config, loaded.config) }),
  );
  const count = (n: number, one: string) => `${n} ${one}${n === 1 ? "" : "s"}`;
  return [
    `${plan.name}: ${plan.what} ${count(cells.length, "cell")} under ${count(plan.seeds.length, "seed")} ${plan.seeds.join(", ")}`,
    ...lines.map((line) => `  ${line}`),
    plan.what === "train"
      ? `a seed makes ${count(groups(warmUpKey), "warm-up")} and plays step 0 in ${count(ways, "way")}`
      : `a seed plays episodes in ${count(ways, "way")}`,
  ].join("\n");
}
