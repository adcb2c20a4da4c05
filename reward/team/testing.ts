import type { TeamAccount, TeamCall } from "../../env/team/account.ts";
import type { Intent, Payload, Verdict } from "../../env/team/message.ts";
import type { RoleName } from "../../env/team/roles.ts";
import { rewardConfig } from "../config.ts";
import type { Scored } from "../scored.ts";
import { makeScorer } from "../scorer.ts";
import { toyTask, toyTrajectory } from "../testing.ts";

/** Public toys for tests of the team's rewards: accounts of episodes that nobody played. */
export const teamTask = {
  ...toyTask,
  question: "Who is the spouse of the director of Zoriba?",
  goldenAnswers: ["Mika"],
  hops: 2,
};

/** What one call gave. */
export interface Said extends Partial<TeamCall> {
  readonly role: RoleName;
}

const said = (role: RoleName, intent: Intent, payload: Payload, over: Partial<TeamCall> = {}): Said => ({
  ...{ role, intent, payload, clean: true },
  ...over,
});

export const rightPath = ["director", "spouse"];

export const plan = (
  path: readonly string[] = rightPath,
  constraints: readonly string[] = ["a person"],
  over = {},
) => said("planner", "propose", { path: [...path], constraints: [...constraints] }, over);
export const replan = (
  path: readonly string[] = rightPath,
  constraints: readonly string[] = ["a person"],
  over = {},
) => said("planner", "revise", { path: [...path], constraints: [...constraints] }, over);
export const conditions = (items: readonly string[] = ["director Ona", "spouse Mika"], over = {}) =>
  said("analyst", "propose", { conditions: [...items] }, over);
export const draft = (answer = "Mika", steps = "director Ona ; spouse Mika", over = {}) =>
  said("drafter", "propose", { steps, answer }, over);
export const verdict = (kind: "pass" | "fail", more: Partial<Verdict> = {}, over = {}) =>
  said(
    "verifier",
    "verify",
    {
      forward: "the director is Ona and Ona has a spouse",
      backward: "Mika is the spouse of the director of Zoriba",
      verdict: kind,
      ...more,
    },
    over,
  );
export const confirm = (answer = "Mika", over = {}) => said("summarizer", "confirm", { answer }, over);
/** A first text that was no message. */
export const violation = (role: RoleName, over: Partial<TeamCall> = {}): Said => ({
  ...{ role, violation: "noMessage", clean: false },
  ...over,
});

/**
 * The account of these rounds, each the calls made in it. Verdicts, the draft and whether it converged follow from them;
 * the answer is the summarizer's, or the draft's.
 */
export function account(rounds: readonly (readonly Said[])[], over: Partial<TeamAccount> = {}): TeamAccount {
  const calls = rounds.flatMap((each, i) =>
    each.map(
      (call): TeamCall => ({ round: i + 1, attempt: 1, tokens: 8, searches: 0, clean: true, ...call }),
    ),
  );
  const verdicts = calls
    .filter(({ role, violation, attempt }) => role === "verifier" && (!violation || attempt === 2))
    .map(({ round, payload }) => ({
      round,
      kind: payload && "verdict" in payload ? payload.verdict : ("unparsable" as const),
    }));
  const last = calls.findLast(({ role, payload }) => role === "drafter" && payload)?.payload;
  const final = calls.findLast(({ role, payload }) => role === "summarizer" && payload)?.payload;
  const converged = verdicts.length === 0 || verdicts.at(-1)?.kind === "pass";
  const drafted = last && "answer" in last ? last.answer : undefined;
  const answer = final && "answer" in final ? final.answer : drafted;
  return {
    ...{ rounds: rounds.length, calls, verdicts, converged, aborted: false, conclusionChanged: false },
    ...(converged && drafted !== undefined && { draft: drafted }),
    ...(converged && answer !== undefined && { answer }),
    ...{ compressions: [], overruns: [] },
    ...over,
  };
}

/** Queries that were searched for, in order; one that comes again is a repeat. */
const searchesOf = (queries: readonly string[]) =>
  queries.map((query, i) => ({
    ...{ query, passageIds: [], repeated: queries.indexOf(query) < i, milliseconds: 0 },
  }));

/** An episode that a team played. */
export function teamTrajectory(
  team: TeamAccount,
  o: { readonly member?: number; readonly queries?: readonly string[]; readonly task?: typeof teamTask } = {},
) {
  const outcome = team.converged
    ? ("answered" as const)
    : team.aborted
      ? ("no_answer" as const)
      : ("turn_limit" as const);
  const ending = {
    outcome,
    turns: team.calls.length,
    searches: searchesOf(o.queries ?? []),
    invalidActions: 0,
  };
  return toyTrajectory([], {
    task: o.task ?? teamTask,
    member: o.member ?? 0,
    outcome,
    ending: { ...ending, observationTokensCut: 0, team },
  });
}

/** The same, scored by the preset `team` with these changes. */
export function teamScored(
  team: TeamAccount,
  o: Parameters<typeof teamTrajectory>[1] & { reward?: object } = {},
): Scored {
  return makeScorer(rewardConfig.parse({ preset: "team", ...o.reward }))(teamTrajectory(team, o));
}

/** A team that gets it right at once, and one whose verifier catches a skipped step. */
export const atOnce = () => account([[plan(), conditions(), draft(), verdict("pass"), confirm()]]);
export const caught = () =>
  account([
    [
      plan(["director"]),
      conditions(["director Ona"]),
      draft("Ona", "director Ona"),
      verdict("fail", { backward: "Ona is the director of Zoriba and not the spouse", step: "spouse" }),
    ],
    [replan(), conditions(), draft(), verdict("pass"), confirm()],
  ]);
/** Rejected in every one of so many rounds. */
export const rejected = (rounds: number) =>
  account(
    Array.from({ length: rounds }, (_, i) => [
      i === 0 ? plan(["director"]) : replan(["director"]),
      draft("Ona", "director Ona"),
      verdict("fail", { step: "director" }),
    ]),
  );
