import type { Family } from "./family.ts";
import type { Solved } from "./plan.ts";
import type { FamilyVocabulary } from "./words.ts";

/** Words of some texts that a vocabulary cannot write: neither a word nor made of its syllables. */
export function unwritable(texts: readonly string[], { words, syllables }: FamilyVocabulary): string[] {
  const known = new Set(words);
  const pieces = new Set(syllables);
  const isName = (word: string) =>
    (word.match(/../g) ?? []).join("") === word && !word.match(/../g)?.some((piece) => !pieces.has(piece));
  const all = new Set(texts.flatMap((text) => text.split(/\s+/u)).filter((word) => word !== ""));
  return [...all].filter((word) => !known.has(word) && !isName(word));
}

/** Everything that is written about a task. */
export const textsOf = ({ task, plan }: Solved<unknown>): string[] => [
  ...[task.question, ...task.goldenAnswers, ...plan.constraints, plan.answer],
  ...plan.steps.flatMap(({ path, work, conditions }) => [path, work, ...conditions]),
];

export const firstTasks = <P>(family: Family<P>, split: "train" | "dev" | "test", level: number, n: number) =>
  Array.from({ length: n }, (_, index) => family.task({ split, level, index }));
