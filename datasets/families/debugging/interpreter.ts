import {
  calculations,
  comparisons,
  parseLine,
  type Statement,
  type Term,
  type Variable,
} from "./language.ts";

/** What is wrong with a program, or with a run of it. */
export type ProgramErrorKind =
  /** A line is no statement. */
  | "syntax"
  /** An `else` or `end` without its beginning, or a beginning without its `end`. */
  | "unbalanced"
  /** A variable is read before it is set. */
  | "unset"
  /** A number beyond ±1,000,000,000. */
  | "tooLarge"
  /** More statements were done than allowed. */
  | "tooManySteps";

export interface ProgramError {
  readonly kind: ProgramErrorKind;
  /** From 1. */
  readonly line: number;
}

export type RunResult =
  | { readonly ok: true; readonly output: readonly number[]; readonly steps: number }
  | { readonly ok: false; readonly error: ProgramError };

/** Statements with where each jumps to: from `if` past its `else` or to its `end`, from `else` and `repeat` to their `end`. */
export interface Program {
  readonly statements: readonly Statement[];
  /** Index to jump to, [statements]; an `end` of a `repeat` holds the index of its `repeat`; -1: none. */
  readonly jumps: readonly number[];
}

const largest = 1e9;
/** Statements that a run may take when nothing else is said. */
const defaultSteps = 1000;

/** Reads a program, one line each; empty lines are lines too, and no statements. */
export function parseProgram(source: string): Program | ProgramError {
  const statements: Statement[] = [];
  for (const [i, line] of source.split("\n").entries()) {
    const statement = parseLine(line.split(/\s+/u).filter((word) => word !== ""));
    if (statement === undefined) return { kind: "syntax", line: i + 1 };
    statements.push(statement);
  }
  return linkProgram(statements);
}

/** Finds where each block ends. */
export function linkProgram(statements: readonly Statement[]): Program | ProgramError {
  const jumps = statements.map(() => -1);
  const open: number[] = [];
  for (const [i, { kind }] of statements.entries()) {
    if (kind === "if" || kind === "repeat") open.push(i);
    if (kind !== "else" && kind !== "end") continue;
    const begin = open.pop();
    const beginKind = begin === undefined ? undefined : statements[begin]?.kind;
    if (begin === undefined || (kind === "else" && beginKind !== "if"))
      return { kind: "unbalanced", line: i + 1 };
    jumps[begin] = kind === "else" ? i + 1 : i;
    if (kind === "else") open.push(i);
    if (kind === "end" && beginKind === "repeat") jumps[i] = begin;
  }
  const unclosed = open.at(-1);
  return unclosed === undefined ? { statements, jumps } : { kind: "unbalanced", line: unclosed + 1 };
}

/**
 * Runs a program in here: total, pure, and at an end after `maxSteps` statements whatever the program. Nothing of it
 * reaches the machine. A `repeat` whose count is 0 or less is passed over.
 */
export function runProgram(
  { statements, jumps }: Program,
  inputs: Readonly<Partial<Record<Variable, number>>>,
  maxSteps = defaultSteps,
): RunResult {
  const values: Partial<Record<Variable, number>> = { ...inputs };
  const read = (term: Term) => (typeof term === "number" ? term : values[term]);
  const output: number[] = [];
  const left: number[] = []; // rounds to go of the loops around, innermost last
  let at = 0;
  let steps = 0;
  const fail = (kind: ProgramErrorKind): RunResult => ({ ok: false, error: { kind, line: at + 1 } });
  while (at < statements.length) {
    if (++steps > maxSteps) return fail("tooManySteps");
    const statement = statements[at] as Statement;
    const jump = jumps[at] as number;
    if (statement.kind === "set") {
      const value = read(statement.left);
      const right = statement.rest ? read(statement.rest.right) : 0;
      if (value === undefined || right === undefined) return fail("unset");
      const result = statement.rest ? calculations[statement.rest.calculation](value, right) : value;
      if (Math.abs(result) > largest) return fail("tooLarge");
      values[statement.to] = result + 0; // no negative zero
    } else if (statement.kind === "print") {
      const value = read(statement.term);
      if (value === undefined) return fail("unset");
      output.push(value);
    } else if (statement.kind === "if") {
      const [a, b] = [read(statement.left), read(statement.right)];
      if (a === undefined || b === undefined) return fail("unset");
      if (!comparisons[statement.comparison](a, b)) at = jump - 1;
    } else if (statement.kind === "else") {
      at = jump;
    } else if (statement.kind === "repeat") {
      const times = read(statement.times);
      if (times === undefined) return fail("unset");
      if (times > 0) left.push(times);
      else at = jump;
    } else if (jump >= 0) {
      const rounds = (left.pop() as number) - 1;
      if (rounds > 0) {
        left.push(rounds);
        at = jump;
      }
    }
    at++;
  }
  return { ok: true, output, steps };
}

/** Reads and runs a source text. */
export function runSource(
  source: string,
  inputs: Readonly<Partial<Record<Variable, number>>>,
  maxSteps?: number,
): RunResult {
  const program = parseProgram(source);
  return "kind" in program ? { ok: false, error: program } : runProgram(program, inputs, maxSteps);
}
