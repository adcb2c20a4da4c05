import type { Command } from "./command.ts";

/** A command's name and purpose, known without loading it. */
export interface CommandRow {
  /** One or two words: "train", "index build". */
  readonly name: string;
  readonly describe: string;
  readonly load: () => Promise<Command>;
}

/** Every command, in the order --help lists them. */
export const commandRows: readonly CommandRow[] = [
  {
    name: "init",
    describe: "write a commented starter (config, questions, corpus) into a new folder",
    load: async () => (await import("./init.ts")).command,
  },
];
