import type { Argv } from "yargs";
import { policyKinds } from "./open-policy.ts";

/** --policy and --step, for the commands that look at a policy. */
export function withPolicy<T>(yargs: Argv<T>) {
  return yargs
    .option("policy", {
      type: "string",
      describe: `${policyKinds}; default: the config's model`,
    })
    .option("step", {
      type: "number",
      describe: "of a run folder: the checkpoint after this many RL steps; default: the last",
    });
}
