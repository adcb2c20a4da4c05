import { join } from "node:path";
import pLimit from "p-limit";
import { type LoadedAblation, loadAblation } from "../configs/load-ablation.ts";
import { ConfigError, ForagerError } from "../core/errors.ts";
import { makeFolder } from "../core/files.ts";
import { showAblation } from "../eval/ablation-table.ts";
import { lockRun } from "../track/run-lock.ts";
import { checkJobs, checkWho, showPlan } from "./ablation-checks.ts";
import {
  type AblationPlan,
  checkNewAblation,
  type Job,
  jobsOf,
  planOf,
  readPlan,
  writeAblation,
} from "./ablation-folder.ts";
import { ablationReport, type Ending, fewSeeds, writeResults } from "./ablation-results.ts";
import { runJobs } from "./ablation-run.ts";
import { checkOutFolder } from "./check-out.ts";
import { defineCommand } from "./command.ts";
import type { Output } from "./output.ts";

export const command = defineCommand({
  positionals: "[file] [overrides..]",
  examples: [
    [
      "forager ablate forager:ablations/reward-weights.yaml",
      "reward weights against the base, three seeds each",
    ],
    ["forager ablate my-ablation.yaml rl.steps=20 --seeds 1", "a first look: shorter, one seed"],
    ["forager ablate my-ablation.yaml --dry-run", "check every cell and show what would run"],
    ["forager ablate --resume runs/ablate-reward-weights", "go on with what is not done, or failed"],
  ],
  builder: (yargs) =>
    yargs
      .positional("file", {
        type: "string",
        describe: "YAML file: a base config, a grid over its keys, seeds (docs/ablations.md)",
      })
      .positional("overrides", {
        type: "string",
        array: true,
        default: [] as string[],
        describe: "key.path=value over the base config of every cell",
      })
      .option("seeds", { type: "string", describe: "in place of the file's, such as 1,2,3" })
      .option("out", { type: "string", describe: "folder for everything; default: runs/ablate-NAME" })
      .option("resume", { type: "string", describe: "folder of an ablation to go on with" })
      .option("dryRun", {
        type: "boolean",
        default: false,
        describe: "check every cell, show the plan, stop",
      })
      .option("markdown", { type: "boolean", default: false, describe: "Markdown in place of plain text" }),
  async run({ file, overrides, seeds, out, resume, dryRun, markdown }, output, signal, extensions) {
    if ((file === undefined) === (resume === undefined))
      throw new ConfigError({
        what: file === undefined ? "nothing to ablate" : "a resumed ablation has its own plan",
        expected: "FILE, or --resume FOLDER",
        next: file === undefined ? "See docs/ablations.md." : "Leave the file out.",
      });
    if (resume !== undefined && (out !== undefined || seeds !== undefined))
      throw new ConfigError({
        what: "a resumed ablation cannot change",
        got: out === undefined ? "--seeds" : "--out",
        next: "Start another one to change it.",
      });
    const o = { output, signal, ...(extensions ? { extensions } : {}) };
    let [folder, plan] = ["", undefined as AblationPlan | undefined];
    if (resume === undefined) {
      const loaded = loadAblation(file as string, overrides);
      plan = withSeeds(planOf(loaded), seeds);
      folder = out ?? join("runs", `ablate-${plan.name}`);
      if (!dryRun) {
        checkNewAblation(folder);
        checkOutFolder(folder);
      }
      tellPlan(plan, loaded, output);
      await checkJobs(plan, loaded, o);
      if (dryRun) {
        output.print(showPlan(plan, loaded));
        return output.result({ plan });
      }
      writeAblation(folder, plan, loaded);
    } else {
      folder = resume;
      plan = readPlan(folder);
      checkWho(plan, extensions);
    }
    makeFolder(folder);
    const lock = lockRun(folder);
    try {
      await runAll(folder, plan, { ...o, markdown });
    } finally {
      lock.release();
    }
  },
});

function withSeeds(plan: AblationPlan, text: string | undefined): AblationPlan {
  if (text === undefined) return plan;
  const seeds = text.split(",").map((each) => each.trim());
  if (seeds.some((seed) => !/^\d+$/.test(seed)) || new Set(seeds).size < seeds.length)
    throw new ConfigError({
      what: "these are no seeds",
      where: "--seeds",
      got: text,
      expected: "different integers of 0 or more with commas between them, such as 1,2,3",
    });
  return { ...plan, seeds: seeds.map(Number) };
}

function tellPlan({ what, seeds, cells }: AblationPlan, { same }: LoadedAblation, output: Output): void {
  output.line(
    `${cells.length} cells × ${seeds.length} ${seeds.length === 1 ? "seed" : "seeds"}: ${cells.join(", ")}`,
  );
  for (const each of same) output.line(`the same config, so one cell: ${each}`);
  if (what === "train" && seeds.length < 3) output.warn(fewSeeds(seeds.length));
}

async function runAll(
  folder: string,
  plan: AblationPlan,
  o: Omit<Parameters<typeof runJobs>[2], "jobs" | "limit"> & { readonly markdown: boolean },
): Promise<void> {
  const { output, signal } = o;
  const jobs = jobsOf(folder, plan);
  output.line(`in ${folder}`);
  output.event("ablation", { out: folder, cells: plan.cells, seeds: plan.seeds });
  const endings = await runJobs(folder, plan, { ...o, jobs, limit: pLimit(plan.atOnce) });
  const report = ablationReport(plan, jobs, endings);
  writeResults(folder, report);
  output.print(`\n${showAblation(report, o.markdown)}`);
  const open = (status: Ending["status"]) => jobs.filter((job: Job) => endings.get(job)?.status === status);
  const next = `Go on with \`forager ablate --resume ${folder}\`: what is done is not run again.`;
  if (signal.aborted) output.line(`Interrupted. ${next}`);
  const failed = open("failed");
  if (failed.length > 0 && !signal.aborted)
    throw new ForagerError({
      what: `${failed.length} of ${jobs.length} cells and seeds failed; the others are in the table`,
      where: folder,
      got: failed.map(({ cell, seed }) => `${cell}, seed ${seed}`).join("; "),
      next,
    });
  output.result({ out: folder, ...report });
}
