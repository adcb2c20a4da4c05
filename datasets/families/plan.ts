import type { Task } from "../task.ts";

/** One step of a solution, in the words that a team writes. */
export interface Step {
  /** What the planner writes for it: one item of the path. No two steps of a plan are written alike. */
  readonly path: string;
  /** What the drafter writes when it does the step right. */
  readonly work: string;
  /** Facts that the step needs, each with its words of the question or of a passage: the analyst's conditions. */
  readonly conditions: readonly string[];
  /** The passage that states them, when they are not in the question. */
  readonly passageId?: string;
}

/** How a task of a family is solved. Only demonstrators, checks and tests may see it. */
export interface Solution<P> {
  /** The problem as data, of which the question is the wording. */
  readonly problem: P;
  readonly steps: readonly Step[];
  /** What the answer and the draft must satisfy, as a planner writes it; `checkConstraints` knows each. */
  readonly constraints: readonly string[];
  readonly answer: string;
}

export interface Solved<P> {
  readonly task: Task;
  readonly plan: Solution<P>;
}

/** One constraint of a task, looked up in an answer and in the steps that led to it. */
export interface ConstraintCheck {
  /** As the planner writes it. */
  readonly constraint: string;
  readonly kept: boolean;
  /** What broke it. */
  readonly detail?: string;
}

/** Items of a list as messages write it: `;` or line ends between them. */
export function itemsOf(written: string): string[] {
  return written
    .split(/[;\n]/u)
    .map(plainSpace)
    .filter((item) => item !== "");
}

export const plainSpace = (text: string): string => text.trim().split(/\s+/u).join(" ");

/** Whether `wanted` occur in `items`, in this order; the first that does not, if any. */
export function firstMissing(wanted: readonly string[], items: readonly string[]): string | undefined {
  let from = 0;
  for (const each of wanted) {
    const at = items.indexOf(each, from);
    if (at < 0) return each;
    from = at + 1;
  }
  return undefined;
}

/** A constraint that is kept, or what broke it. */
export const checked = (constraint: string, broken: string | undefined): ConstraintCheck =>
  broken === undefined ? { constraint, kept: true } : { constraint, kept: false, detail: broken };
