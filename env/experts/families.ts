import type { Rng } from "../../core/rng.ts";
import type { NamedFamily } from "../../datasets/families/families.ts";
import type { Seat } from "../environment.ts";
import { teamPresets } from "../team/experts/expert.ts";
import { familyExpert } from "../team/experts/families/expert.ts";
import { type Draft, readMessage } from "../team/message.ts";
import { drawIntent, type Habits } from "./habits.ts";
import { answerTags, type CountTokens, turnsSeat } from "./turns.ts";

/**
 * The turns of one demonstrator that does a family's task alone: what a drafter without planner and analyst would do, its
 * searches first and its steps in `<think>`. Who stops early leaves one step out. @throws DataError for another family's id
 */
export function familyTurns(
  named: NamedFamily,
  taskId: string,
  habits: Habits,
  draw: Rng,
): readonly string[] {
  const { steps } = named.family.planned(taskId).plan;
  const intent = drawIntent(habits, steps.length, draw);
  const draftOf = (skip: 0 | 1) => {
    const planner = { ...teamPresets.clean.planner, skip };
    const expert = familyExpert(named, taskId, {
      habits: { ...teamPresets.clean, planner },
      draw: () => draw,
    });
    const turns = expert.call("drafter", { round: 1, on: { planner: false, analyst: false } });
    return { searches: turns.slice(0, -1), draft: read(taskId, turns.at(-1) as string) };
  };
  const { searches, draft } = draftOf(intent.searches < steps.length ? 1 : 0);
  const other = intent.answers.startsWith("two") ? draftOf(1).draft.answer : draft.answer;
  const last = `<think> ${draft.steps} </think> ${answerTags(intent.answers, draft.answer, other)}`;
  return [...searches, last.trimEnd()];
}

function read(taskId: string, written: string): Draft {
  const reading = readMessage(taskId, "drafter", written);
  return "message" in reading ? (reading.message.payload as Draft) : { steps: "nothing", answer: "nothing" };
}

/** That demonstrator in the policy's seat. */
export const familySeat = (
  named: NamedFamily,
  taskId: string,
  habits: Habits,
  draw: Rng,
  count?: CountTokens,
): Seat => turnsSeat(familyTurns(named, taskId, habits, draw), count);
