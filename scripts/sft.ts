import { join } from "node:path";
import { loadConfig } from "../configs/load-config.ts";
import { ConfigError } from "../core/errors.ts";
import { closingWords } from "./closing-words.ts";
import { defineCommand } from "./command.ts";
import { openRecord, startRecord } from "./run-record.ts";
import { openSetup } from "./setup.ts";
import { runTraining, summaryOf } from "./train-run.ts";
import { withConfig } from "./with-config.ts";

export const command = defineCommand({
  positionals: "<config> [overrides..]",
  examples: [["forager sft configs/warmstart.yaml", "teach a policy to read from scripted demonstrations"]],
  builder: (yargs) => withConfig(yargs),
  async run({ config: path, overrides }, output, signal, extensions) {
    const loaded = loadConfig(path, [...overrides, "rl.steps=0"]);
    if (loaded.config.sft.steps === 0)
      throw new ConfigError({
        what: "there are no supervised steps to do",
        where: "sft.steps",
        got: "0",
        next: "Set sft.steps, e.g. `forager sft my.yaml sft.steps=500`.",
      });
    const began = Date.now();
    const setup = await openSetup(loaded.config, { output, signal, ...(extensions ? { extensions } : {}) });
    try {
      const folder = startRecord(loaded, new Date());
      const record = openRecord(folder, setup);
      output.line(`run folder ${folder.path}`);
      try {
        const result = await runTraining(setup, record, { output, signal });
        const summary = {
          status: result.status,
          steps: 0,
          seconds: (Date.now() - began) / 1e3,
          evals: result.evals.map(summaryOf),
          weightsSha256: result.weightsSha256,
        };
        record.summary(summary);
        closingWords(setup, record, result, output);
        const model = join(folder.checkpoints, "rl-000000");
        if (result.status === "done") output.line(`the policy: ${model}  (use it as model.path)`);
        output.result({ folder: folder.path, model, ...summary });
      } finally {
        record.close();
      }
    } finally {
      await setup.close();
    }
  },
});
