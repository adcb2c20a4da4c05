import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import { type CommandRow, commandRows } from "./commands.ts";
import type { Extensions } from "./extensions.ts";
import { makeOutput, type Output, type Streams } from "./output.ts";
import { packageVersion } from "./package-version.ts";
import { reportOf, showReport } from "./report-error.ts";

/**
 * Runs one command line and gives its exit code: 0 done, 1 the run failed, 2 the user's mistake, 130 interrupted.
 * Never throws and never ends the process, save at the second Ctrl-C.
 * @param words the command line after `forager`
 */
export async function runCli(
  words: readonly string[],
  extensions: Extensions = {},
  streams: Streams = process,
  rows: readonly CommandRow[] = commandRows,
): Promise<number> {
  const output = makeOutput({ json: words.includes("--json"), quiet: words.includes("--quiet") }, streams);
  const stop = listen(streams);
  try {
    const { code, endsByInterrupt } = await dispatch(words, rows, output, stop.signal, extensions);
    return stop.interrupted() && !endsByInterrupt ? 130 : code;
  } catch (error) {
    // Stopping is how an aborted command may end: what it throws then is not news.
    if (stop.interrupted() && (error === stop.signal.reason || (error as Error)?.name === "AbortError"))
      return 130;
    return complain(error, output, streams);
  } finally {
    stop.close();
  }
}

async function dispatch(
  words: readonly string[],
  rows: readonly CommandRow[],
  output: Output,
  signal: AbortSignal,
  extensions: Extensions,
): Promise<{ readonly code: number; readonly endsByInterrupt?: boolean | undefined }> {
  const { row, rest } = find(words, rows);
  if (!row) {
    if (words.includes("--version")) {
      output.print(packageVersion());
      output.result({ version: packageVersion() });
      return { code: 0 };
    }
    output.print(overview(rows));
    if (!words.includes("--help")) return { code: 2 };
    output.result({ commands: rows.map(({ name }) => name) });
    return { code: 0 };
  }
  const { parseArguments } = await import("./arguments.ts");
  const command = await row.load();
  const parsed = await parseArguments(row, command, rest);
  if ("help" in parsed) {
    output.print(parsed.help);
    output.result({ help: parsed.help });
    return { code: 0 };
  }
  await command.run(parsed.args, output, signal, extensions);
  return { code: 0, endsByInterrupt: command.endsByInterrupt };
}

/** The command named by the first one or two words that are not flags; flags before it are left to it. */
function find(words: readonly string[], rows: readonly CommandRow[]): { row?: CommandRow; rest: string[] } {
  const first = words.findIndex((word) => !word.startsWith("-"));
  if (first < 0) return { rest: [...words] };
  const [one = "", two = ""] = words.slice(first);
  for (const [name, length] of [
    [one, 1],
    [`${one} ${two}`, 2],
  ] as const) {
    const row = rows.find((candidate) => candidate.name === name);
    if (row) return { row, rest: words.toSpliced(first, length) };
  }
  const inside = rows.filter(({ name }) => name.startsWith(`${one} `)).map(({ name }) => name);
  const names = inside.length > 0 ? inside : rows.map(({ name }) => name);
  const typed = inside.length > 0 ? `${one} ${two}`.trim() : one;
  const close = nearest(typed, names);
  throw new ConfigError({
    what: `unknown command \`${typed}\``,
    expected: `one of ${names.join(", ")}`,
    next: close ? `Did you mean \`forager ${close}\`?` : "See `forager --help`.",
  });
}

function complain(error: unknown, output: Output, streams: Streams): number {
  const report = reportOf(error);
  const { what, where, got, expected, next } = report.complaint;
  output.event("error", { kind: report.kind, what, where, got, expected, next, exitCode: report.exitCode });
  streams.stderr.write(`${showReport(report)}\n`);
  if (process.env.FORAGER_DEBUG === "1" && error instanceof Error) streams.stderr.write(`${error.stack}\n`);
  return report.exitCode;
}

/** Ctrl-C: the first asks the command to stop at a safe point, the second ends the process. */
function listen(streams: Streams) {
  const controller = new AbortController();
  let signals = 0;
  const onSignal = () => {
    if (++signals > 1) process.exit(130);
    streams.stderr.write("\nstopping at the next safe point; once more stops at once\n");
    controller.abort();
  };
  // Nobody reads any more (`forager … | head`): stop quietly, as if interrupted, but that is no failure.
  const onClosed = (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "ERR_STREAM_DESTROYED") throw error;
    controller.abort();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  streams.stdout.on("error", onClosed);
  streams.stderr.on("error", onClosed);
  return {
    signal: controller.signal,
    interrupted: () => signals > 0,
    close() {
      process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
    },
  };
}

function overview(rows: readonly CommandRow[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length)) + 2;
  return `forager ${packageVersion()}: train and evaluate search agents with reinforcement learning

Usage: forager COMMAND [arguments] [--json] [--quiet]

Commands:
${rows.map(({ name, describe }) => `  ${name.padEnd(width)}${describe}`).join("\n")}

Every command has --help with a worked example, --json (JSON Lines on stdout) and --quiet.
A config is a YAML file; \`key.path=value\` after it overrides one value.
Exit codes: 0 done, 1 the run failed, 2 a mistake in what was asked, 130 interrupted.

  forager train forager:quickstart.yaml      train a small search agent in five minutes
  forager init my-project                    start from your own documents and questions
`;
}
