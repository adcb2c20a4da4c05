import { ConfigError } from "../core/errors.ts";
import { runCli } from "./cli.ts";
import type { Extensions } from "./extensions.ts";

export interface Forager {
  /** Runs the command line (`process.argv`) with the added names and ends the process with its exit code. */
  run(argv: readonly string[]): Promise<never>;
  /** Runs one command line, given as words after `forager`, and gives its exit code. */
  command(...words: string[]): Promise<number>;
}

/**
 * Forager's command line with a user's own environments, agents, reward parts, data sets and samplers added by name:
 *
 *     await defineForager({ environments: { maze: ({ retriever }) => new Maze(retriever) } }).run(process.argv);
 *
 * and in the YAML `env: { name: maze }`.
 * @throws ConfigError for a name YAML could not say plainly
 */
export function defineForager(extensions: Extensions): Forager {
  for (const [kind, named] of Object.entries(extensions))
    for (const name of Object.keys(named ?? {}))
      if (!/^[a-z][A-Za-z0-9-]*$/.test(name))
        throw new ConfigError({
          what: `\`${name}\` cannot name one of the ${kind}`,
          expected: "a lower-case letter, then letters, digits and hyphens",
        });
  return {
    async run(argv) {
      return endProcess(await runCli(argv.slice(2), extensions));
    },
    command: (...words) => runCli(words, extensions),
  };
}

/** Ends the process once what was written has left it; open sessions and databases must not keep it alive. */
async function endProcess(code: number): Promise<never> {
  for (const stream of [process.stdout, process.stderr])
    if (stream.writable) await new Promise((resolve) => stream.write("", resolve));
  process.exit(code);
}
