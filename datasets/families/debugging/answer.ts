import { plainSpace } from "../plan.ts";
import { compile, type Lines } from "./mutations.ts";
import type { DebuggingProblem } from "./problem.ts";

/** The lines that an answer names, by index from 0; undefined when it is not of the form `line 3 : … , line 5 : …`. */
export function readFix(answer: string): ReadonlyMap<number, readonly string[]> | undefined {
  const found = new Map<number, readonly string[]>();
  for (const part of answer.split(",")) {
    const [, number, text] = /^line (\d{1,2}) : (.+)$/.exec(plainSpace(part)) ?? [];
    if (number === undefined || text === undefined || found.has(Number(number) - 1)) return undefined;
    found.set(Number(number) - 1, text.split(" "));
  }
  return found;
}

/** The program with an answer's lines put in; undefined when it names a line that is not there. */
export function repaired({ lines }: DebuggingProblem, answer: string): Lines | undefined {
  const fix = readFix(answer);
  if (fix === undefined || [...fix.keys()].some((line) => lines[line] === undefined)) return undefined;
  return lines.map((words, i) => fix.get(i) ?? words);
}

/** The repaired program, ready to run; undefined when the answer cannot be put in. */
export function repairedProgram(problem: DebuggingProblem, answer: string) {
  const lines = repaired(problem, answer);
  return lines && compile(lines);
}
