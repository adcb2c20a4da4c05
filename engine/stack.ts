import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";

const engineFolder = dirname(fileURLToPath(import.meta.url)) + sep;
const DEPTH = 200;

/** Runs `body` with stacks deep enough to reach the caller through tfjs' own frames. */
export function withDeepStacks<T>(body: () => T): T {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = DEPTH;
  try {
    return body();
  } finally {
    Error.stackTraceLimit = before;
  }
}

/** The first line of the stack that is neither ours nor a package's, as file:line:column. */
export function callerOf(error: Error): string {
  const lines = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const foreign = lines.find((line) => {
    const inside = line.includes(engineFolder) && !/\.test\.[jt]s/.test(line);
    return !inside && !/node_modules|node:|tfjs-core\/src|\bnative\b/.test(line);
  });
  const place = /\(?((?:file:\/\/)?[^()\s]+:\d+:\d+)\)?$/.exec(foreign?.trim() ?? "")?.[1];
  return place ? place.replace(/^file:\/\//, "") : "unknown line";
}
