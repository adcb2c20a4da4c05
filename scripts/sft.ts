import { loadConfig } from "../configs/load-config.ts";
import { ConfigError } from "../core/errors.ts";
import { checkpointPath } from "../track/run-folder.ts";
import { defineCommand } from "./command.ts";
import { runNew } from "./run-into.ts";
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
    const attempt = { output, signal, began: Date.now(), ...(extensions ? { extensions } : {}) };
    const { folder, summary } = await runNew(loaded, attempt);
    const model = checkpointPath(folder, "rl", 0);
    if (summary.status === "done") output.line(`the policy: ${model}  (use it as model.path)`);
    output.result({ folder: folder.path, model, ...summary });
  },
});
