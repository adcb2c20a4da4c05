import type { Argv } from "yargs";

/** The arguments of a command that takes a config: `<config> [overrides..]`. */
export function withConfig(yargs: Argv) {
  return yargs
    .positional("config", {
      type: "string",
      demandOption: true,
      describe: "YAML file, or the name of a shipped one: quickstart, or forager:base/dmi.yaml",
    })
    .positional("overrides", overrides);
}

/** The same where the config may be left out, as with --resume. */
export function withOptionalConfig(yargs: Argv) {
  return yargs
    .positional("config", {
      type: "string",
      describe: "YAML file, or the name of a shipped one: quickstart, or forager:base/dmi.yaml",
    })
    .positional("overrides", overrides);
}

const overrides = {
  type: "string",
  array: true,
  default: [] as string[],
  describe: "key.path=value, such as rl.groupSize=16; the value is YAML",
} as const;
