import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../configs/load-config.ts";
import { printConfig } from "../configs/print.ts";
import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import { openRunFolder, type RunFolder, readJson } from "../track/run-folder.ts";
import { closingWords } from "./closing-words.ts";
import { defineCommand } from "./command.ts";
import type { Extensions } from "./extensions.ts";
import type { Output } from "./output.ts";
import { countAttempt, openRecord, type RunRecord, type Summary, startRecord } from "./run-record.ts";
import { openSetup, type Setup } from "./setup.ts";
import { type RunResult, runTraining, summaryOf } from "./train-run.ts";
import { withOptionalConfig } from "./with-config.ts";

export const command = defineCommand({
  positionals: "[config] [overrides..]",
  examples: [
    ["forager train configs/quickstart.yaml", "warm-started tiny policy, reinforcement learning, evaluation"],
    ["forager train my.yaml rl.steps=50 rollout.groupSize=16", "with two values overridden"],
    ["forager train --resume runs/quickstart", "go on where a stopped run stands"],
  ],
  builder: (yargs) =>
    withOptionalConfig(yargs)
      .option("resume", {
        type: "string",
        describe: "Run folder to continue, with the config it was started with",
      })
      .option("dryRun", {
        type: "boolean",
        default: false,
        describe: "Check everything in the config, print it resolved, and stop",
      }),
  async run({ config: path, overrides, resume, dryRun }, output, signal, extensions) {
    if ((path === undefined) === (resume === undefined))
      throw new ConfigError({
        what: path === undefined ? "nothing to train" : "a resumed run has its own config",
        expected: "CONFIG, or --resume RUN",
        next:
          path === undefined
            ? "Name a YAML file, e.g. `forager train configs/quickstart.yaml`."
            : "Leave the config out.",
      });
    if (resume !== undefined && overrides.length > 0)
      throw new ConfigError({
        what: "a resumed run cannot change its config",
        got: overrides.join(" "),
        next: "Start a new run to change values.",
      });
    const loaded = loadConfig(resume === undefined ? (path as string) : configOf(resume), overrides);
    if (dryRun) {
      output.print(printConfig(loaded.config, loaded.stated));
      output.result({ config: loaded.config });
      return;
    }
    const began = Date.now();
    const setup = await openSetup(loaded.config, { output, signal, ...(extensions ? { extensions } : {}) });
    try {
      const folder = resume === undefined ? startRecord(loaded, new Date()) : openRunFolder(resume);
      if (resume !== undefined) countAttempt(folder);
      await trainInto(folder, setup, { output, signal, began });
    } finally {
      await setup.close();
    }
  },
});

function configOf(run: string): string {
  openRunFolder(run);
  return join(run, "config.yaml");
}

/** Trains into a folder; whatever happens, summary.json says how it ended. */
async function trainInto(
  folder: RunFolder,
  setup: Setup,
  o: { output: Output; signal: AbortSignal; began: number },
): Promise<void> {
  const record = openRecord(folder, setup);
  const { output } = o;
  output.line(`run folder ${folder.path}`);
  output.event("run", { folder: folder.path });
  const earlier = secondsSoFar(folder);
  const seconds = () => earlier + (Date.now() - o.began) / 1e3;
  try {
    const result = await runTraining(setup, record, o);
    const summary = summarize(result, seconds());
    record.summary(summary);
    closingWords(setup, record, result, output);
    output.result({ folder: folder.path, ...summary });
  } catch (error) {
    record.summary({
      status: "failed",
      steps: 0,
      seconds: seconds(),
      evals: [],
      weightsSha256: "",
      error: error instanceof Error ? error.message : String(error),
    });
    throw error;
  } finally {
    record.close();
  }
}

function summarize(result: RunResult, seconds: number): Summary {
  return {
    status: result.status,
    steps: result.steps,
    seconds: Math.round(seconds * 10) / 10,
    evals: result.evals.map(summaryOf),
    weightsSha256: result.weightsSha256,
  };
}

function secondsSoFar(folder: RunFolder): number {
  const path = join(folder.path, "summary.json");
  return existsSync(path) ? ((readJson(path) as Partial<Summary>).seconds ?? 0) : 0;
}

export type { Config, Extensions, RunRecord };
