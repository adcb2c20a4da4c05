import type { Rng } from "../../../../core/rng.ts";
import { itemsOf, plainSpace, type Solution } from "../../../../datasets/families/plan.ts";
import type { Draft } from "../../message.ts";

/** What a demonstrator of a family can do beside reading its plan. All of it pure. */
export interface Skills {
  /** A draft that follows the path as it is; with `slip`, one step of it comes out wrong, and what follows from it. */
  draft(path: readonly string[], slip?: Rng): Draft;
  /** A draft's answer put back into the task, in words; it ends in `holds`, or in what does not. */
  backward(draft: Draft): string;
  /**
   * What the plan comes to when what the draft found in passages is believed: whoever judges was not shown them. Absent
   * where everything is in the question.
   */
  believing?(draft: Draft): Pick<Solution<unknown>, "steps" | "answer">;
}

/** Where a draft goes wrong. */
export interface Fault {
  /** The path's words for the step. */
  readonly step: string;
  /** What should stand there, and what does. */
  readonly forward: string;
}

/**
 * The first step of the plan that a draft leaves out or gets wrong, whatever the order in which it takes the steps;
 * undefined when every step is there and the answer is right.
 */
export function faultOf(
  { steps, answer }: Pick<Solution<unknown>, "steps" | "answer">,
  draft: Draft,
): Fault | undefined {
  const items = itemsOf(draft.steps);
  for (const { path, work } of steps) {
    if (items.includes(work)) continue;
    const own = items.find((item) => item.startsWith(`${path} : `));
    const got = own?.slice(path.length + 3);
    return { step: path, forward: got === undefined ? `${path} is missing` : `${work} not ${got}` };
  }
  if (plainSpace(draft.answer) === answer) return undefined;
  return { step: "answer", forward: `answer is ${answer} not ${plainSpace(draft.answer)}` };
}

/** Whether something shown states a fact: every word of the fact stands in one shown item. */
export function isGiven(fact: string, shown: readonly string[]): boolean {
  const words = fact.split(" ");
  return shown.some((item) => {
    const own = new Set(plainSpace(item).split(" "));
    return words.every((word) => own.has(word));
  });
}
