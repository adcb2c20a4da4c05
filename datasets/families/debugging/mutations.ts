import { linkProgram, type Program } from "./interpreter.ts";
import {
  calculations,
  comparisons,
  isKey,
  isVariable,
  parseLine,
  type Statement,
  variables,
} from "./language.ts";

/** Lines as words. */
export type Lines = readonly (readonly string[])[];

/** One word of one line put in another's place. */
export interface Substitution {
  /** From 0. */
  readonly line: number;
  /** Place of the word in its line, from 0. */
  readonly place: number;
  readonly word: string;
}

const literals = Array.from({ length: 9 }, (_, i) => String(i + 1));

/** Other words that could stand in a word's place: numbers 1 to 9, variables, calculations, comparisons; else none. */
function alternatives(word: string): readonly string[] {
  if (isVariable(word)) return variables;
  if (isKey(calculations, word)) return Object.keys(calculations);
  if (isKey(comparisons, word)) return Object.keys(comparisons);
  return /^\d+$/.test(word) ? literals : [];
}

/** Every substitution of one word: the space in which bugs are made and fixes are looked for. */
export function substitutions(lines: Lines): Substitution[] {
  return lines.flatMap((words, line) =>
    words.flatMap((old, place) =>
      alternatives(old)
        .filter((word) => word !== old)
        .map((word) => ({ line, place, word })),
    ),
  );
}

export function substitute(lines: Lines, changes: readonly Substitution[]): Lines {
  return lines.map((words, i) => {
    const own = changes.filter(({ line }) => line === i);
    return own.length === 0
      ? words
      : words.map((word, p) => own.find(({ place }) => place === p)?.word ?? word);
  });
}

/** A line with one word substituted. */
export const lineWith = (lines: Lines, { line, place, word }: Substitution): readonly string[] =>
  (lines[line] as readonly string[]).with(place, word);

/** The program of some lines. Substitutions never touch the words that blocks are made of, so it always has one. */
export function compile(lines: Lines): Program | undefined {
  const statements: Statement[] = [];
  for (const words of lines) {
    const statement = parseLine(words);
    if (statement === undefined) return undefined;
    statements.push(statement);
  }
  const program = linkProgram(statements);
  return "kind" in program ? undefined : program;
}
