import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import { questionOf, type Task } from "../datasets/task.ts";
import type { Act, Ending, Environment, Observation, Seat } from "../env/environment.ts";
import { spoken } from "../env/testing.ts";

export interface PlayOptions {
  readonly environment: Environment;
  readonly task: Task;
  readonly input: Readable;
  readonly output: Writable;
  /** Colours and a prompt sign; plain text for pipes. */
  readonly interactive: boolean;
  readonly signal?: AbortSignal;
}

/**
 * A person takes the policy's seat. A turn ends with the line that holds a stop string or `</answer>`, or with
 * an empty line. Resolves to the ending, or to undefined when the input ended first (Ctrl-D) or the signal aborted.
 */
export async function play(options: PlayOptions): Promise<Ending | undefined> {
  const { environment, task, input, output, interactive, signal } = options;
  const say = (text: string) => void output.write(`${text}\n`);
  const tint = (style: Parameters<typeof styleText>[0], text: string) =>
    interactive ? styleText(style, text, { validateStream: false }) : text;
  const left = new AbortController();
  const leave = () => left.abort();
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted) leave();
  const terminal = createInterface({ input, output, terminal: interactive, prompt: interactive ? "> " : "" });
  const typed = terminal[Symbol.asyncIterator]();
  terminal.on("SIGINT", leave);
  terminal.once("close", () => signal?.removeEventListener("abort", leave));
  left.signal.addEventListener("abort", () => terminal.close(), { once: true });

  /** Seats whose duty has been told. */
  const told = new Set<string>(environment.prompts ? [] : environment.seats);
  const seat = (name: string): Seat => ({
    async observe(text) {
      say(tint("cyan", shown(text)));
      return { tokens: 0, cut: 0 };
    },
    async act({ stop }): Promise<Act> {
      if (environment.seats.length > 1) say(tint("dim", `seat ${name}`));
      if (!told.has(name)) say(tint("dim", environment.prompts?.[name]?.system ?? ""));
      told.add(name);
      const lines: string[] = [];
      for (;;) {
        if (interactive && !left.signal.aborted) terminal.prompt();
        const { value, done } = await typed.next();
        if (done) {
          left.abort();
          throw new Left();
        }
        lines.push(value);
        const ended = [...stop, "</answer>"].some((end) => value.includes(end));
        if (value.trim() === "" || ended) return spoken(lines.join("\n"), stop);
      }
    },
  });

  say(tint("bold", task.question));
  say(
    tint(
      "dim",
      `${environment.prompts ? "Each seat says what it writes" : "Write <think> … </think>, <search> … </search> or <answer> … </answer>"}; an empty line ends a turn, Ctrl-D leaves.`,
    ),
  );
  try {
    const seats = Object.fromEntries(environment.seats.map((name) => [name, seat(name)]));
    const ending = await environment.play(questionOf(task), seats, left.signal);
    say(tint("bold", `${ending.outcome}: ${ending.turns} turns, ${ending.searches.length} searches`));
    say(`Gold: ${task.goldenAnswers.join(" | ")}`);
    return ending;
  } catch (error) {
    if (!(error instanceof Left) && !left.signal.aborted) throw error;
    say("\nLeft the game. The question stays open.");
    return undefined;
  } finally {
    terminal.close();
  }
}

/** The person has gone. */
class Left extends Error {}

const shown = (text: string | Observation) =>
  typeof text === "string" ? text : text.open + text.body + text.close;
