import type { Trajectory } from "../rollout/trajectory.ts";
import { type AnswerScores, type Gold, goldOf, scoreAnswer } from "./answers.ts";
import { answersOf, type ExtractionName, extractions } from "./extract.ts";
import type { Normalizer } from "./normalize.ts";

/** What the parts are computed from: one trajectory, read once. */
export interface Facts {
  readonly trajectory: Trajectory;
  readonly gold: Gold;
  /** Every answer given, in order. */
  readonly answers: readonly string[];
  /** The judged one. */
  readonly prediction: string | undefined;
  readonly scores: AnswerScores;
}

/** One named reward: a pure function whose raw value is kept, so that stored episodes can be weighed anew. */
export type Part = (facts: Facts) => number;

export const parts = {
  /** 1 when the judged answer equals a gold alias under the normaliser. */
  exactMatch: ({ scores }) => scores.em,
  /** Token F1 of the judged answer, best alias. */
  f1: ({ scores }) => scores.f1,
  /** 1 when a gold alias occurs in the judged answer. Easily hacked: for looking at, not for training. */
  coverMatch: ({ scores }) => scores.coverEm,
  /** 1 when there is an answer tag, empty or not. */
  answerTag: ({ answers }) => (answers.length > 0 ? 1 : 0),
  /** Number of answer tags. */
  answers: ({ answers }) => answers.length,
} satisfies Record<string, Part>;

export type PartName = keyof typeof parts;
export const partNames = Object.keys(parts) as [PartName, ...PartName[]];

export function factsOf(trajectory: Trajectory, normalizer: Normalizer, extraction: ExtractionName): Facts {
  const gold = goldOf(trajectory.task.goldenAnswers, normalizer);
  const answers = answersOf(trajectory);
  const prediction = extractions[extraction](answers);
  return { trajectory, gold, answers, prediction, scores: scoreAnswer(prediction, gold, normalizer) };
}
