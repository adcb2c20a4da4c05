/** What a policy and its environment may see of a task. */
export interface Question {
  readonly id: string;
  readonly question: string;
}

/** A question with what only the reward may see. Never hand one to an environment: use `questionOf`. */
export interface Task extends Question {
  /** At least one non-empty gold answer. */
  readonly goldenAnswers: readonly string[];
  /** Name of the data set it comes from, e.g. "hotpotqa", "world". */
  readonly dataset: string;
  /** Number of reasoning hops, ≥ 1. */
  readonly hops: number;
  /** Ids of the passages that support the answer, in hop order where the source knows it. */
  readonly supportingIds?: readonly string[];
  /** Titles of those passages, where the source names them so. Titles need not be unique in a corpus. */
  readonly supportingTitles?: readonly string[];
}

export interface Passage {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** A copy without gold answers: what the environment is given is all that is in its memory. */
export function questionOf(task: Task): Question {
  return { id: task.id, question: task.question };
}
