import yargs, { type Argv } from "yargs";
import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import type { Command } from "./command.ts";
import type { CommandRow } from "./commands.ts";

export type Parsed = { readonly help: string } | { readonly args: Record<string, unknown> };

/**
 * Parses a command's own words. Strict: no unknown flags, no prefixes of flags, no number or text left out.
 * @throws ConfigError
 */
export async function parseArguments(
  row: CommandRow,
  command: Command,
  words: readonly string[],
): Promise<Parsed> {
  const name = `forager ${row.name}`;
  let declared: Declared = { key: [], array: [] };
  const declare = (inner: Argv) => {
    const parser = command.builder(inner);
    const variadic = [...command.positionals.matchAll(/(\w+)\.\./g)].map(([, option]) => option as string);
    declared = declaredOn(parser, variadic);
    return parser;
  };
  const whole = yargs()
    .scriptName(name)
    .locale("en")
    .parserConfiguration({
      "dot-notation": false,
      // One value a flag: what follows `--endpoint URL` is an override.
      "greedy-arrays": false,
      "parse-positional-numbers": false,
      "strip-dashed": true,
    })
    .usage(`$0 ${command.positionals}\n\n${row.describe}`)
    .command(`$0 ${command.positionals}`.trim(), false, declare)
    .option("json", {
      type: "boolean",
      default: false,
      describe: "JSON Lines on stdout, people's text on stderr",
    })
    .option("quiet", { type: "boolean", default: false, describe: "no text for people, no progress" })
    .help()
    .version(false)
    .strict()
    .exitProcess(false)
    .wrap(Math.min(110, process.stdout.columns ?? 100))
    .fail((message, error) => {
      throw error ?? misuse(message, name, declared);
    });
  let help = "";
  const args = await whole.parseAsync([...words], {}, (_error: unknown, _args: unknown, text: string) => {
    help = text;
  });
  if (help) return { help: `${declared.key.reduce(hyphenate, help)}\n\n${examplesOf(command)}` };
  checkValues(args, name, declared);
  return { args };
}

/** `dryRun` is declared and `--dry-run` typed (yargs takes both): show the one that is typed. */
const kebab = (option: string) => option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
function hyphenate(help: string, option: string): string {
  return kebab(option) === option
    ? help
    : help.replaceAll(new RegExp(`--${option} ?`, "g"), `--${kebab(option)}`);
}

/** Written by hand: yargs would break a command line in two. */
function examplesOf({ examples }: Command): string {
  return `Examples:\n${examples.map(([line, does]) => `  ${line}\n      ${does}`).join("\n")}`;
}

function misuse(message: string, name: string, declared: Declared): ConfigError {
  const unknown = /^Unknown arguments?: (.*)$/.exec(message)?.[1]?.split(", ")[0];
  const flag = unknown && nearest(unknown, declared.key);
  const next = `See \`${name} --help\`.`;
  return new ConfigError({
    what: unknown ? `unknown argument \`${unknown}\`` : message,
    where: name,
    next: flag ? `Did you mean \`--${kebab(flag)}\`? ${next}` : next,
  });
}

/** yargs takes `--steps` without a value as "", `--steps many` as NaN, and `--steps 1 --steps 2` as a list. */
function checkValues(args: Record<string, unknown>, name: string, declared: Declared): void {
  const wrong = (option: string, what: string, expected: string) =>
    new ConfigError({
      what: `\`${option}\` ${what}`,
      where: name,
      expected,
      next: `See \`${name} --help\`.`,
    });
  for (const [option, value] of Object.entries(args)) {
    if (!declared.key.includes(option)) continue;
    if (Array.isArray(value) && !declared.array.includes(option))
      throw wrong(option, "is given twice", "one value");
    if (value === "") throw wrong(option, "has no value", "text");
    if (Number.isNaN(value)) throw wrong(option, "has no usable value", "a number");
  }
}

/** Names of options and positionals, as declared. */
interface Declared {
  readonly key: readonly string[];
  readonly array: readonly string[];
}

/** What has been declared on a parser; yargs has the method, its types do not. */
function declaredOn(parser: Argv, variadic: readonly string[]): Declared {
  const { key, array } = (
    parser as unknown as { getOptions(): { key: object; array: string[] } }
  ).getOptions();
  return { key: Object.keys(key), array: [...array, ...variadic] };
}
