import { join } from "node:path";
import { loadConfig } from "../configs/load-config.ts";
import { ConfigError } from "../core/errors.ts";
import type { Warning } from "../reward/lab.ts";
import { counted } from "../reward/lab-finding.ts";
import { openRunFolder } from "../track/run-folder.ts";
import { agentRewards } from "./agents.ts";
import { checkOutFile } from "./check-out.ts";
import { defineCommand } from "./command.ts";
import { scorerName } from "./finished-run.ts";
import type { Output } from "./output.ts";
import { algorithmName, loadReward } from "./rescore-reward.ts";
import { showFindings } from "./rescore-table.ts";
import { rescore } from "./rescore-work.ts";
import { readSummary } from "./run-record.ts";

export const command = defineCommand({
  positionals: "<run> [overrides..]",
  examples: [
    [
      "forager rescore runs/x --reward f1.yaml",
      "what its episodes would have earned under another reward, and learned",
    ],
    ["forager rescore runs/x reward.weights.answerTag=0", "under the run's own with one weight changed"],
    [
      "forager rescore runs/x rl.advantage=grpo --out x.csv",
      "with other advantages; a row an episode as CSV",
    ],
  ],
  builder: (yargs) =>
    yargs
      .positional("run", { type: "string", demandOption: true, describe: "a run folder, finished or not" })
      .positional("overrides", {
        type: "string",
        array: true,
        default: [] as string[],
        describe: "key.path=value over the file, such as reward.preset=search-r1; the value is YAML",
      })
      .option("reward", {
        type: "string",
        describe:
          "YAML file with a section `reward`, or a whole config; its section `rl`, if it has one, counts too. Default: the run's own config",
      })
      .option("out", { type: "string", describe: "CSV file to write, a row an episode" })
      .option("examples", { type: "number", default: 5, describe: "examples shown of each kind" })
      .option("everyStep", { type: "boolean", default: false, describe: "a line for every step" })
      .option("evals", {
        type: "boolean",
        default: true,
        describe: "score the run's evaluations too (--no-evals: not)",
      }),
  async run({ run, overrides, reward: file, out, examples, everyStep, evals }, output, signal, extensions) {
    if (!Number.isInteger(examples) || examples < 0)
      throw new ConfigError({
        what: "--examples is wrong",
        got: `${examples}`,
        expected: "a whole number, 0 or more",
      });
    if (out !== undefined) checkOutFile(out);
    const folder = openRunFolder(run);
    const { config } = loadConfig(join(folder.path, "config.yaml"));
    const own = { ...extensions.rewards, ...agentRewards(config) };
    const fresh = loadReward(file, overrides, { folder: folder.path, config });
    const partial = readSummary(folder)?.status !== "done";
    const { remade, found, evaluations, withoutEvaluations } = await rescore({
      ...{ folder: folder.path, config, fresh, own, out, examples, evals, output, signal },
    });
    const rewards = {
      own: { reward: scorerName(config), algorithm: algorithmName(config.rl) },
      new: { reward: scorerName(fresh), algorithm: algorithmName(remade.rl) },
    };
    const { episodes, groups } = found.all;
    const of = `${counted(episodes, "episode")} in ${counted(groups, "group")} of ${counted(found.steps.length, "step")}`;
    output.print(
      [
        `${config.run.name}${partial ? " (partial)" : ""}: ${of}`,
        `own: ${rewards.own.reward}; ${rewards.own.algorithm}`,
        `new: ${rewards.new.reward}; ${rewards.new.algorithm}`,
        "",
        showFindings(found, { every: everyStep, evaluations }),
      ].join("\n"),
    );
    if (partial) output.warn("the run is not done: this is of the steps that it has recorded");
    if (withoutEvaluations !== undefined) output.warn(`evaluations are left out: ${withoutEvaluations}`);
    for (const warning of found.warnings) tell(warning, output);
    if (out !== undefined) output.line(`-> ${out}`);
    const { steps, ...rest } = found;
    for (const step of steps) output.event("step", { ...step });
    output.result({
      ...{ run: config.run.name, partial, rewards, steps: steps.length },
      ...rest,
      evaluations,
      ...(withoutEvaluations === undefined ? {} : { withoutEvaluations }),
      ...(out === undefined ? {} : { out }),
    });
  },
});

const sides = { both: "under both rewards: ", new: "under the new reward: ", own: "" } as const;

/** What was true of the run's own reward alone is good news. */
function tell({ of, text }: Warning, output: Output): void {
  if (of === "own") output.line(`no longer, but under the run's own reward: ${text}`);
  else output.warn(`${sides[of]}${text}`);
}
