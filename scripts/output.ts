import { InvariantError } from "../core/errors.ts";
import { type Progress, progressBar, silent } from "./progress.ts";

/**
 * Where a command's words go.
 *
 * |            | plain            | --json          | --quiet | --json --quiet |
 * |------------|------------------|-----------------|---------|----------------|
 * | `event`    | –                | stdout, JSON    | –       | stdout, JSON   |
 * | `line`     | stdout           | stderr          | –       | –              |
 * | `print`    | stdout           | stderr          | stdout  | –              |
 * | `warn`     | stderr           | stderr + event  | stderr  | stderr + event |
 * | `progress` | stderr           | stderr          | –       | –              |
 */
export interface Output {
  readonly json: boolean;
  readonly quiet: boolean;
  /** One JSON line on stdout with --json, else nothing. */
  event(name: string, data: Readonly<Record<string, unknown>>): void;
  /** The last event of a command: once, at the end. */
  result(data: Readonly<Record<string, unknown>>): void;
  /** One line for people. */
  line(text?: string): void;
  /** What the user asked to see (search hits, a resolved config): printed even with --quiet. */
  print(text: string): void;
  /** Something to know that is not an error. */
  warn(text: string): void;
  /** A bar with the time left on a terminal, a plain line now and then elsewhere. `total` may be unknown; `done` of it was there before. */
  progress(label: string, total?: number, done?: number): Progress;
}

export interface Streams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

export function makeOutput(options: { json: boolean; quiet: boolean }, streams: Streams = process): Output {
  const { json, quiet } = options;
  let finished = false;
  let bar: Progress | undefined;
  const write = (stream: NodeJS.WriteStream, text: string) => {
    bar?.clear();
    stream.write(text.endsWith("\n") ? text : `${text}\n`);
  };
  const people = json ? streams.stderr : streams.stdout;
  const event = (name: string, data: Readonly<Record<string, unknown>>) => {
    if (json) write(streams.stdout, encodeEvent({ event: name, ...data }));
  };
  return {
    json,
    quiet,
    event,
    result(data) {
      if (finished) throw new InvariantError({ what: "a command gave two results" });
      finished = true;
      event("result", data);
    },
    line(text = "") {
      if (!quiet) write(people, text);
    },
    print(text) {
      if (!(json && quiet)) write(people, text);
    },
    warn(text) {
      event("warning", { message: text });
      write(streams.stderr, `warning: ${text}`);
    },
    progress(label, total, done = 0) {
      if (quiet) return silent;
      bar = progressBar(streams.stderr, label, total, { done });
      return bar;
    },
  };
}

/** JSON on one line. JSON has no NaN or Infinity; written as strings they are seen, as null they would hide. */
export function encodeEvent(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === "number" && !Number.isFinite(field) ? String(field) : field,
  );
}
