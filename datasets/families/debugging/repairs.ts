import { type Program, runProgram } from "./interpreter.ts";
import { parseLine, type Statement } from "./language.ts";
import { compile, type Lines, lineWith, type Substitution, substitutions } from "./mutations.ts";

/** What a program must print for one value of n. */
export interface Case {
  readonly n: number;
  readonly prints: number;
}

/** Statements of one run: no task comes near it. */
const runSteps = 200;

/** The one number that a run prints; undefined when it fails, or prints none or several. */
export function printed(program: Program | undefined, n: number): number | undefined {
  if (program === undefined) return undefined;
  const result = runProgram(program, { n }, runSteps);
  return result.ok && result.output.length === 1 ? result.output[0] : undefined;
}

export const passes = (program: Program | undefined, cases: readonly Case[]): boolean =>
  cases.every(({ n, prints }) => printed(program, n) === prints);

/** Sets of one-word substitutions, each set in `bugs` different lines. */
export interface Fix {
  readonly changes: readonly Substitution[];
  readonly program: Program;
}

/** Every way to change one word in each of `bugs` (1 or 2) lines, as programs ready to run. */
export function* fixes(lines: Lines, bugs: number): Generator<Fix> {
  const { statements = [], jumps = [] } = compile(lines) ?? {};
  // Parsed once each: the pairs share them, and substitutions leave the jumps as they are.
  const singles = substitutions(lines).flatMap((change) => {
    const statement = parseLine(lineWith(lines, change));
    return statement ? [{ change, statement }] : [];
  });
  const swap = (old: readonly Statement[], { change, statement }: (typeof singles)[number]) =>
    old.with(change.line, statement);
  for (const [i, first] of singles.entries()) {
    const one = swap(statements, first);
    if (bugs === 1) {
      yield { changes: [first.change], program: { statements: one, jumps } };
      continue;
    }
    for (const second of singles.slice(i + 1)) {
      if (second.change.line === first.change.line) continue;
      yield {
        changes: [first.change, second.change],
        program: { statements: swap(one, second), jumps },
      };
    }
  }
}

/** A set of substitutions as one text, whatever its order. */
export const fixKey = (changes: readonly Substitution[]): string =>
  changes
    .map(({ line, place, word }) => `${line}.${place}.${word}`)
    .sort()
    .join(" ");
