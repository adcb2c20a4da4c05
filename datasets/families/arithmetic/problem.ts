/** Exact integer operations, in the words of paths and drafts. */
export const operators = {
  plus: (a: number, b: number) => a + b,
  minus: (a: number, b: number) => a - b,
  times: (a: number, b: number) => a * b,
  /** Exact division: no whole number comes out of any other. */
  over: (a: number, b: number) => a / b,
} as const;
export type Operator = keyof typeof operators;
export const operatorNames = Object.keys(operators) as Operator[];

/** Something happens to what one person has. */
export interface Move {
  readonly who: string;
  readonly operator: Operator;
  readonly number: number;
  /** Which of the operator's wordings. */
  readonly wording: number;
}

/** A number that has nothing to do with the answer. */
export interface Distractor {
  /** Sentence of the story that it stands before. */
  readonly at: number;
  readonly who: string;
  readonly number: number;
  readonly unit: string;
  readonly wording: number;
}

/** What is asked: what one person has, or two together, or how much more the first has than the second. */
export type Asked =
  | { readonly kind: "has"; readonly who: string }
  | { readonly kind: "together" | "more"; readonly who: string; readonly other: string };

/** A story of one or two persons and one unit. */
export interface ArithmeticProblem {
  readonly unit: string;
  readonly starts: readonly { readonly who: string; readonly number: number }[];
  /** In the order in which they happen. */
  readonly moves: readonly Move[];
  readonly asked: Asked;
  readonly distractors: readonly Distractor[];
}

/** The last operation of a question about two. */
export const askedOperators = { together: "plus", more: "minus" } as const satisfies Record<string, Operator>;

/** The path that solves a problem: `ana plus 3`, …, `ana minus ben`. */
export function pathOf({ moves, asked }: ArithmeticProblem): string[] {
  const last = asked.kind === "has" ? [] : [`${asked.who} ${askedOperators[asked.kind]} ${asked.other}`];
  return [...moves.map(({ who, operator, number }) => `${who} ${operator} ${number}`), ...last];
}
