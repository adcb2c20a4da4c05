import { readPassages } from "../datasets/jsonl.ts";
import type { Passage, Task } from "../datasets/task.ts";

export interface GoldPassages {
  /** Questions that name gold passages, by id or else by title. */
  readonly questions: number;
  /** Different passages that they name. */
  readonly named: number;
  /** Of those, not in the corpus. */
  readonly missing: number;
  /** Questions that miss at least one. */
  readonly questionsMissing: number;
  /** The first of them, with what each misses. */
  readonly examples: readonly { readonly id: string; readonly missing: readonly string[] }[];
}

/** What a question calls its gold passages: ids where it has them, for titles are not unique. */
export const namesOf = ({ supportingIds, supportingTitles }: Task): readonly string[] =>
  supportingIds?.map(idName) ?? supportingTitles?.map(titleName) ?? [];

/** What a passage may be called by. */
export const passageNames = ({ id, title }: Passage): readonly string[] => [idName(id), titleName(title)];

const idName = (id: string) => `id ${id}`;
const titleName = (title: string) => `title ${title.normalize("NFKC").trim().toLowerCase()}`;

/**
 * Looks up the gold passages of several sets of questions in one reading of the corpus.
 * @throws DataError as `readPassages` does
 */
export async function findGoldPassages(
  corpus: string,
  sets: readonly (readonly Task[])[],
  { examples = 5, onPassage }: { examples?: number; onPassage?: () => void } = {},
): Promise<GoldPassages[]> {
  const missing = new Set(sets.flat().flatMap(namesOf));
  for await (const passage of readPassages(corpus)) {
    onPassage?.();
    for (const name of passageNames(passage)) missing.delete(name);
  }
  return sets.map((tasks) => {
    const named = new Set(tasks.flatMap(namesOf));
    const short = tasks
      .map((task) => ({ id: task.id, missing: namesOf(task).filter((name) => missing.has(name)) }))
      .filter((task) => task.missing.length > 0);
    return {
      questions: tasks.filter((task) => namesOf(task).length > 0).length,
      named: named.size,
      missing: [...named].filter((name) => missing.has(name)).length,
      questionsMissing: short.length,
      examples: short.slice(0, examples),
    };
  });
}
