/** A running count. */
export interface Progress {
  /** `by` more are done; `note` stands behind the bar until the next one. */
  tick(by?: number, note?: string): void;
  /** Wipes the bar so that a line can be written; the next tick draws it again. */
  clear(): void;
  /** Ends with a line that says how many and how long. */
  done(): void;
}

export const silent: Progress = { tick() {}, clear() {}, done() {} };

const width = 24;
const redrawMs = 100;
const plainMs = 10_000;

/** On a terminal one line that redraws itself, with the time left; elsewhere a plain line every ten seconds. */
export function progressBar(
  stream: NodeJS.WriteStream,
  label: string,
  total?: number,
  { now = () => performance.now(), done = 0 }: { now?: () => number; done?: number } = {},
): Progress {
  const start = now();
  const terminal = stream.isTTY === true && process.env.TERM !== "dumb";
  let count = done;
  let note = "";
  let drawn = terminal ? Number.NEGATIVE_INFINITY : start;
  let visible = false;

  const draw = (last: boolean) => {
    const seconds = (now() - start) / 1000;
    drawn = now();
    const of = total === undefined ? `${count}` : `${count}/${total}`;
    const left =
      total === undefined || count === done ? undefined : (seconds / (count - done)) * (total - count);
    const time = last || left === undefined ? `in ${showSeconds(seconds)}` : `${showSeconds(left)} left`;
    const behind = note ? ` · ${note}` : "";
    if (!terminal) return void stream.write(`${label} ${of} · ${time}${behind}\n`);
    const filled = total ? Math.round((Math.min(count, total) / total) * width) : 0;
    const bar = total === undefined ? "" : ` ${"█".repeat(filled)}${"░".repeat(width - filled)}`;
    const line = `${label}${bar} ${of} · ${time}${behind}`.slice(
      0,
      Math.max(20, (stream.columns ?? 100) - 1),
    );
    stream.write(`\r\u001b[2K${line}${last ? "\n" : ""}`);
    visible = !last;
  };

  return {
    tick(by = 1, text = note) {
      count += by;
      note = text;
      if (now() - drawn >= (terminal ? redrawMs : plainMs)) draw(false);
    },
    clear() {
      if (visible) stream.write("\r\u001b[2K");
      visible = false;
    },
    done() {
      draw(true);
    },
  };
}

/** 4.2s, 3m05s, 1h02m. */
export function showSeconds(seconds: number): string {
  if (seconds < 59.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  return `${Math.floor(whole / 3600)}h${two(Math.floor((whole % 3600) / 60))}m`;
}
