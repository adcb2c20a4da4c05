import type { Task } from "../task.ts";
import type { Relation } from "./relations.ts";

/** One step of a solution: a fact and the page that states it. */
export interface Hop {
  readonly subject: string;
  readonly relation: Relation;
  readonly object: string;
  /** The page of `subject`, which states the fact. */
  readonly passageId: string;
}

/** How a question of the world is answered. Only demonstrators and tests may see it. */
export interface Plan {
  /** Relation chain from the entity named in the question to the answer; hops[i].object is hops[i+1].subject. */
  readonly hops: readonly Hop[];
  /** Two true facts past the answer, for demonstrators that do not know when to stop. */
  readonly beyond: readonly Hop[];
}

export interface Planned {
  readonly task: Task;
  readonly plan: Plan;
}
