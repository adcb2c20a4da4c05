import type { Argv } from "yargs";
import type { Extensions } from "./extensions.ts";
import type { Output } from "./output.ts";

/** One command of the command line, with the arguments that its builder declares. */
export interface CommandOf<Args> {
  /** Positionals in yargs' notation, without the command's name: "<file>", "[config] [overrides..]", "". */
  readonly positionals: string;
  /** Worked examples for --help: [command line, what it does]. At least one. */
  readonly examples: readonly (readonly [string, string])[];
  readonly builder: (yargs: Argv) => Argv<Args>;
  /**
   * Does the work. Returns when done (exit 0); throws a ForagerError for what the user should see.
   * `signal` is aborted by the first Ctrl-C: stop at the next safe point and return (exit 130).
   */
  readonly run: (args: Args, output: Output, signal: AbortSignal, extensions: Extensions) => Promise<void>;
  /** It serves until Ctrl-C: that is how it is done (exit 0). */
  readonly endsByInterrupt?: true;
}

export type Command = CommandOf<Readonly<Record<string, unknown>>>;

/** A command: `run` gets the arguments typed as the builder declares them. */
export function defineCommand<Args>(command: CommandOf<Args>): Command {
  return command as unknown as Command; // safe: the cli passes `run` only what `builder` parsed
}
