import { join } from "node:path";
import type { Loaded } from "../configs/load.ts";
import { loadConfig } from "../configs/load-config.ts";
import { printConfig } from "../configs/print.ts";
import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import { checkRunFolder, openRunFolder, type RunFolder } from "../track/run-folder.ts";
import { lockRun } from "../track/run-lock.ts";
import { defineCommand } from "./command.ts";
import type { Output } from "./output.ts";
import { type Attempt, runInto, runNew } from "./run-into.ts";
import { checkConfigUnchanged, checkModelInPlace, takeUp } from "./run-meta.ts";
import { readSummary, runPath } from "./run-record.ts";
import { checkSetup, openSetup } from "./setup.ts";
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
    const attempt = { output, signal, began: Date.now(), ...(extensions ? { extensions } : {}) };
    if (resume === undefined) await begin(loadConfig(path as string, overrides), dryRun, attempt);
    else await goOn(openRunFolder(resume), dryRun, attempt);
  },
});

/** A new run. */
async function begin(loaded: Loaded<Config>, dryRun: boolean, o: Attempt): Promise<void> {
  const { config } = loaded;
  if (dryRun) {
    checkRunFolder(runPath(config, new Date(o.began)));
    return showPlan(loaded, o);
  }
  const { folder, summary } = await runNew(loaded, o);
  o.output.result({ folder: folder.path, ...summary });
}

/** A run that was stopped, killed or failed, from its last checkpoint on. */
async function goOn(folder: RunFolder, dryRun: boolean, o: Attempt): Promise<void> {
  if (isFinished(folder, o.output)) return;
  const lock = lockRun(folder.path);
  try {
    if (isFinished(folder, o.output)) return; // in the meantime
    checkConfigUnchanged(folder);
    const loaded = loadConfig(join(folder.path, "config.yaml"));
    checkModelInPlace(loaded.config);
    if (dryRun) return showPlan(loaded, o);
    const setup = await openSetup(loaded.config, o);
    try {
      takeUp(folder, setup, o.output);
      o.output.result({ folder: folder.path, ...(await runInto(folder, setup, o)) });
    } finally {
      await setup.close();
    }
  } finally {
    lock.release();
  }
}

function isFinished(folder: RunFolder, output: Output): boolean {
  const summary = readSummary(folder);
  if (summary?.status !== "done") return false;
  output.print(
    `This run is finished: ${summary.steps} steps, weightsSha256 ${summary.weightsSha256}. Nothing to do.`,
  );
  output.result({ folder: folder.path, ...summary });
  return true;
}

/** A dry run: everything is checked and nothing made. */
async function showPlan({ config, stated }: Loaded<Config>, o: Attempt): Promise<void> {
  const found = await checkSetup(config, o);
  o.output.print(printConfig(config, stated));
  for (const line of found) o.output.line(`# ${line}`); // comments: the whole output is a config that can be kept
  o.output.result({ config });
}
