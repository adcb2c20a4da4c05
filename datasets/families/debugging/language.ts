/**
 * The tiny language of the debugging tasks. One statement a line, white space between words:
 *
 *     set V to T            set V to T OP T
 *     print T               repeat T … end
 *     if T CMP T … end      if T CMP T … else … end
 *
 * T is a variable (n x y z) or a whole number, OP plus, minus or times, CMP less, more or same.
 */
export const variables = ["n", "x", "y", "z"] as const;
export type Variable = (typeof variables)[number];

export const calculations = {
  plus: (a: number, b: number) => a + b,
  minus: (a: number, b: number) => a - b,
  times: (a: number, b: number) => a * b,
} as const;
export type Calculation = keyof typeof calculations;

export const comparisons = {
  less: (a: number, b: number) => a < b,
  more: (a: number, b: number) => a > b,
  same: (a: number, b: number) => a === b,
} as const;
export type Comparison = keyof typeof comparisons;

export type Term = number | Variable;

export type Statement =
  | {
      readonly kind: "set";
      readonly to: Variable;
      readonly left: Term;
      readonly rest?: { readonly calculation: Calculation; readonly right: Term };
    }
  | { readonly kind: "print"; readonly term: Term }
  | { readonly kind: "if"; readonly left: Term; readonly comparison: Comparison; readonly right: Term }
  | { readonly kind: "repeat"; readonly times: Term }
  | { readonly kind: "else" }
  | { readonly kind: "end" };

/** A line's words; undefined when they are no statement. */
export function parseLine(words: readonly string[]): Statement | undefined {
  const [kind, first = "", second = "", third = "", fourth = "", fifth = ""] = words;
  const n = words.length;
  if ((kind === "else" || kind === "end") && n === 1) return { kind };
  if (kind === "print" && n === 2) {
    const term = parseTerm(first);
    return term === undefined ? undefined : { kind, term };
  }
  if (kind === "repeat" && n === 2) {
    const times = parseTerm(first);
    return times === undefined ? undefined : { kind, times };
  }
  if (kind === "if" && n === 4) {
    const [left, right] = [parseTerm(first), parseTerm(third)];
    if (left === undefined || right === undefined || !isKey(comparisons, second)) return undefined;
    return { kind, left, comparison: second, right };
  }
  if (kind !== "set" || !isVariable(first) || second !== "to" || (n !== 4 && n !== 6)) return undefined;
  const left = parseTerm(third);
  if (left === undefined) return undefined;
  if (n === 4) return { kind, to: first, left };
  const right = parseTerm(fifth);
  if (right === undefined || !isKey(calculations, fourth)) return undefined;
  return { kind, to: first, left, rest: { calculation: fourth, right } };
}

export const isVariable = (word: string): word is Variable => (variables as readonly string[]).includes(word);

function parseTerm(word: string): Term | undefined {
  if (isVariable(word)) return word;
  return /^\d{1,9}$/.test(word) ? Number(word) : undefined;
}

export const isKey = <T extends object>(table: T, word: string): word is keyof T & string =>
  Object.hasOwn(table, word);
