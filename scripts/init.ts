import { copyFileSync, existsSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { ConfigError } from "../core/errors.ts";
import { writeFolderAtomic } from "../core/files.ts";
import { packageRoot } from "../core/package-root.ts";
import { defineCommand } from "./command.ts";

export const command = defineCommand({
  positionals: "<folder>",
  examples: [
    ["forager init my-project", "a config, ten questions and a small corpus that train as they stand"],
  ],
  builder: (yargs) =>
    yargs.positional("folder", {
      type: "string",
      demandOption: true,
      describe: "a folder that is new or empty",
    }),
  async run({ folder }, output) {
    const files = await writeStarter(folder);
    for (const file of files) output.line(`  ${join(folder, file)}`);
    output.line(`\nNext: forager train ${join(relative("", folder) || ".", "forager.yaml")}`);
    output.result({ folder, files });
  },
});

/**
 * Copies the starter into a folder, whole or not at all.
 * @returns the names of the files written
 * @throws ConfigError when the folder has something in it
 */
export async function writeStarter(folder: string): Promise<string[]> {
  const from = join(packageRoot(), "configs", "starter");
  const files = readdirSync(from).sort();
  const copyInto = (to: string) => {
    for (const file of files) copyFileSync(join(from, file), join(to, file));
  };
  if (!existsSync(folder)) {
    await writeFolderAtomic(folder, async (temporary) => copyInto(temporary));
    return files;
  }
  if (!statSync(folder).isDirectory())
    throw new ConfigError({
      what: "a file stands where the folder would be",
      where: folder,
      next: "Choose another name.",
    });
  const there = readdirSync(folder);
  if (there.length > 0)
    throw new ConfigError({
      what: "the folder is not empty",
      where: folder,
      got: there.slice(0, 3).join(", ") + (there.length > 3 ? ", …" : ""),
      next: "Choose a new folder: nothing is ever overwritten.",
    });
  copyInto(folder);
  return files;
}
