import type { Output } from "./output.ts";
import { silent } from "./progress.ts";

/**
 * What one cell of an ablation says: warnings with its name, events with its name in them, bars where it runs alone. Its
 * lines and its result are in its folder.
 */
export function cellOutput(
  output: Output,
  { cell, seed, alone }: { readonly cell: string; readonly seed: number; readonly alone: boolean },
): Output {
  const told = new Set<string>();
  return {
    json: output.json,
    quiet: output.quiet,
    event: (name, data) => output.event(name, { cell, seed, ...data }),
    result() {},
    line() {},
    print() {},
    warn(text) {
      // An alarm that comes and goes is told once a cell.
      const subject = text.replace(/^step \d+: /, "").split(" ")[0] as string;
      if (told.size < told.add(subject).size) output.warn(`${cell}, seed ${seed}: ${text}`);
    },
    progress: (label, total, done) =>
      alone ? output.progress(`${cell}, seed ${seed}: ${label}`, total, done) : silent,
  };
}
