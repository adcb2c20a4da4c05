import type { SeatPrompt } from "../environment.ts";
import type { Intent } from "./message.ts";

export const roleNames = ["planner", "analyst", "drafter", "verifier", "summarizer"] as const;
export type RoleName = (typeof roleNames)[number];

/** What stands on the blackboard, or is handed from one role to the next. */
export type Entry = "constraints" | "path" | "conditions" | "draft" | "verdict";

/** One role of the team: one duty, and so one kind of error to answer for. */
export interface Role {
  /** The one kind of error that it answers for. */
  readonly answersFor: string;
  /** Intents that it may write. */
  readonly intents: readonly Intent[];
  /** What it is shown, beside the task, in this order; each entry once, when it is new. Never another role's workspace. */
  readonly reads: readonly Entry[];
  readonly writes: readonly Entry[];
  readonly prompt: SeatPrompt;
}

const prompt = (role: RoleName, duty: string, form: string): SeatPrompt => ({
  plain: `<${role}> <question> {question} </question>`,
  system: `You are the ${role} of a team that answers a question together.\n${duty}\nWrite one message, in exactly this form and with nothing around it:\n${form}`,
  user: "Question: {question}",
});

/** What a role is told that may search. */
export const searching =
  "To search, write <search> query </search>; results come back inside <information> and </information>.";

/** The team of five. Whoever is switched off leaves its work to others (team.ts). */
export const roles: Readonly<Record<RoleName, Role>> = {
  planner: {
    answersFor: "the path is wrong",
    intents: ["propose", "revise", "abort"],
    reads: ["verdict"],
    writes: ["path", "constraints"],
    prompt: prompt(
      "planner",
      "Split the question into the steps that lead to its answer, skip none, and say what the answer must satisfy. When a draft is rejected, write the steps anew with <revise> in place of <propose>, and keep what the answer must satisfy. If the question cannot be answered: <abort> <reason> … </reason> </abort>.",
      "<propose> <path> first step ; second step </path> <constraints> what the answer must satisfy </constraints> </propose>",
    ),
  },
  analyst: {
    answersFor: "conditions are missing",
    intents: ["propose"],
    reads: ["constraints", "path"],
    writes: ["conditions"],
    prompt: prompt(
      "analyst",
      `Find what each step of the path needs, and hand on the smallest sufficient set of facts. ${searching}`,
      "<propose> <conditions> first fact ; second fact </conditions> </propose>",
    ),
  },
  drafter: {
    answersFor: "the wording is unclear",
    intents: ["propose"],
    reads: ["constraints", "path", "conditions"],
    writes: ["draft"],
    prompt: prompt(
      "drafter",
      "Turn the path and the conditions into a complete draft that can be checked. Do not judge it.",
      "<propose> <steps> how the answer follows, step by step </steps> <answer> a few words </answer> </propose>",
    ),
  },
  verifier: {
    answersFor: "errors go unnoticed",
    intents: ["verify"],
    reads: ["constraints", "path", "draft"],
    writes: ["verdict"],
    prompt: prompt(
      "verifier",
      "Check the draft forward (is every step there and does it follow) and backward (does the answer, put back into the question, hold). The verdict is pass or fail; with fail, name the step where the error is.",
      "<verify> <forward> … </forward> <backward> … </backward> <verdict> pass or fail </verdict> <step> the step with the error </step> </verify>",
    ),
  },
  summarizer: {
    answersFor: "the form is wrong",
    intents: ["confirm"],
    reads: ["draft"],
    writes: [],
    prompt: prompt(
      "summarizer",
      "Give the verified draft's answer in its final form. Never change the conclusion.",
      "<confirm> <answer> a few words </answer> </confirm>",
    ),
  },
};
