import type { ArithmeticProblem, Distractor, Move, Operator } from "./problem.ts";

export const persons = ["ana", "ben", "eva", "leo", "mia", "tom", "kim", "sam"] as const;
export const units = ["pens", "cups", "books", "coins", "apples", "stones", "cards", "shells"] as const;

/** What happens, with {who}, {n} and {unit} to fill in. */
export const moveWordings: Readonly<Record<Operator, readonly string[]>> = {
  plus: ["{who} finds {n} {unit}", "{who} buys {n} {unit}", "{who} gets {n} more {unit}"],
  minus: ["{who} loses {n} {unit}", "{who} sells {n} {unit}", "{who} gives {n} {unit} away"],
  times: ["{who} then has {n} times as many {unit}"],
  over: ["{who} makes {n} equal shares of the {unit} and keeps one"],
};

/** A distractor is about another unit, or about things that nobody gets. */
export const distractorWordings = ["{who} also has {n} {unit}", "{who} only sees {n} {unit}"];

const startWording = "{who} has {n} {unit}";
const questions = {
  has: "how many {unit} does {who} have now ?",
  together: "how many {unit} do {who} and {other} have together now ?",
  more: "how many more {unit} does {who} have now than {other} ?",
};

const fill = (wording: string, values: Readonly<Record<string, string | number>>) =>
  wording.replace(/\{(\w+)\}/g, (_, key: string) => String(values[key]));

export const startSentence = (unit: string, { who, number }: ArithmeticProblem["starts"][number]) =>
  fill(startWording, { who, n: number, unit });

export const moveSentence = (unit: string, { who, operator, number, wording }: Move) =>
  fill(moveWordings[operator][wording] as string, { who, n: number, unit });

const distractorSentence = ({ who, number, unit, wording }: Distractor) =>
  fill(distractorWordings[wording] as string, { who, n: number, unit });

export function arithmeticQuestion({ unit, starts, moves, asked, distractors }: ArithmeticProblem): string {
  const story = [
    ...starts.map((start) => startSentence(unit, start)),
    ...moves.map((move) => moveSentence(unit, move)),
  ];
  const sentences = story.flatMap((sentence, i) => [
    ...distractors.filter(({ at }) => at === i).map(distractorSentence),
    sentence,
  ]);
  return `${sentences.join(" . ")} . ${fill(questions[asked.kind], { ...asked, unit })}`;
}

const filledIn = /\{\w+\}/g;
/** Words of questions and drafts. */
export const arithmeticWords: readonly string[] = [
  ...[...Object.values(moveWordings).flat(), ...distractorWordings, ...Object.values(questions), startWording]
    .flatMap((wording) => wording.replace(filledIn, "").split(" "))
    .filter((word) => word !== ""),
  ...[...persons, ...units, "plus", "minus", "times", "over", "in", "whole", "numbers"],
];
