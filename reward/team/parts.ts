import type { TeamAccount } from "../../env/team/account.ts";
import type { Facts } from "../facts.ts";
import type { PartOptions } from "../part-options.ts";
import { judgementsOf, pathsOf } from "./reading.ts";
import { locates, putsBack } from "./words.ts";

/** What these parts can be told by the YAML. */
export interface TeamPartOptions {
  /** Parts whose mean `teamProcess` is. */
  readonly process: readonly TeamProcessPart[];
  /** Revisions that cost nothing, and what each further one takes from 1. */
  readonly freeRevisions: number;
  readonly revisionCost: number;
  /** Factor for each time that a plan is rejected which was rejected before. */
  readonly samePlanDecay: number;
}

/**
 * What a process part says of an episode, in [0, 1]. `untested`: its role was there, but the case did not arise (nothing
 * was revised, nothing rejected). `impossible`: nobody was there to give it (no verdict, no planner, no constraint).
 */
type Finding = number | "untested" | "impossible";

type Judge = (facts: Facts, options: PartOptions) => Finding;

/**
 * What `teamProcess` can be made of. All of it is what verdicts say: an episode without a verdict has none of it.
 */
export const teamProcessOf = {
  /**
   * Share of the revisions after which every constraint that the planner has stated so far is still there, compared
   * normalised. A constraint that was dropped is missed until it is back; a new one counts from then on.
   */
  constraintsKept: ({ team, normalizer }) => {
    const plans = pathsOf(team).map(({ payload }) => payload.constraints.map((c) => normalizer.normalize(c)));
    const [first, ...revised] = plans;
    if (first === undefined || plans.every((each) => each.length === 0)) return "impossible";
    const stated = new Set(first);
    const kept = revised.map((now) => {
      const all = [...stated].every((each) => now.includes(each));
      for (const each of now) stated.add(each);
      return all;
    });
    return shareOf(kept);
  },
  /** Share of the verdicts whose `backward` puts the draft's answer back into the question; an unreadable one does not. */
  backSubstitution: (facts) => {
    const { question } = facts.trajectory.task;
    return shareOf(
      judgementsOf(facts.team).map(
        ({ verdict, draft }) =>
          verdict !== undefined &&
          draft !== undefined &&
          putsBack(verdict.backward, { ...draft, forward: verdict.forward, question }, facts.normalizer),
      ),
    );
  },
  /**
   * Share of the rejections that name a step: one of the path, one of the draft, or one that is missing from both and that
   * the question asks for.
   */
  errorLocated: ({ team, trajectory, normalizer }) =>
    shareOf(
      judgementsOf(team)
        .filter(({ kind }) => kind === "fail")
        .map(({ verdict, path = [], draft }) => {
          const { question } = trajectory.task;
          const steps = draft?.steps ?? "";
          return verdict?.step !== undefined && locates(verdict.step, { path, steps, question }, normalizer);
        }),
    ),
  /** 1 up to `revisions.free` revisions, less by `revisions.cost` for each further one, not below 0. */
  fewRevisions: ({ team }, { team: { freeRevisions, revisionCost } }) =>
    Math.max(0, 1 - revisionCost * Math.max(0, revisionsOf(team) - freeRevisions)),
} satisfies Record<string, Judge>;

export type TeamProcessPart = keyof typeof teamProcessOf;
export const teamProcessNames = Object.keys(teamProcessOf) as [TeamProcessPart, ...TeamProcessPart[]];

const judge = (name: TeamProcessPart, facts: Facts, options: PartOptions): Finding =>
  facts.team.verdicts.length === 0 ? "impossible" : teamProcessOf[name](facts, options);

/** By itself: 1 where the case did not arise, so that neither rejecting nor passing earns it; 0 where nobody could give it. */
const rawOf = (name: TeamProcessPart) => (facts: Facts, options: PartOptions) => {
  const found = judge(name, facts, options);
  return found === "untested" ? 1 : found === "impossible" ? 0 : found;
};

const row = <F>(of: F) => ({ of, needs: ["team"] as const });

/** Parts that only a team can give, each in [0, 1]. */
export const teamParts = {
  /** 1 when a draft was accepted within the rounds, or there was nobody to reject it. */
  converged: row(({ team }: Facts) => (team.converged ? 1 : 0)),
  /**
   * Share of the calls whose first text was a message of the role's own intents, complete, with nothing around it; 0 for
   * the whole episode when the summarizer changed the conclusion.
   */
  teamFormat: row(({ team }: Facts) => {
    if (team.conclusionChanged) return 0;
    const first = team.calls.filter(({ attempt }) => attempt === 1);
    const good = first.filter(({ clean, payload }) => clean && payload !== undefined);
    return first.length === 0 ? 0 : good.length / first.length;
  }),
  constraintsKept: row(rawOf("constraintsKept")),
  backSubstitution: row(rawOf("backSubstitution")),
  errorLocated: row(rawOf("errorLocated")),
  fewRevisions: row(rawOf("fewRevisions")),
  /** `samePlan.decay` to the power of how often a plan was rejected that had been rejected before. */
  freshPlan: row((facts: Facts, options: PartOptions) => freshPlan(facts, options)),
  /**
   * Mean of `process.of` over what was put to the test, times `freshPlan`. What did not arise is left out: nobody earns
   * anything by causing it or by avoiding it. Without a verdict nothing was, and it is 0.
   */
  teamProcess: row((facts: Facts, options: PartOptions) => {
    const tested = options.team.process
      .map((name) => judge(name, facts, options))
      .filter((found) => typeof found === "number");
    if (tested.length === 0) return 0;
    return (tested.reduce((sum, value) => sum + value, 0) / tested.length) * freshPlan(facts, options);
  }),
};

/** Every round after the first revises what was rejected, whoever does it. */
export const revisionsOf = ({ rounds }: Pick<TeamAccount, "rounds">): number => Math.max(0, rounds - 1);

/** Without a planner the plan is the draft, and the same draft is one with the same answer. */
function freshPlan({ team, normalizer }: Facts, { team: { samePlanDecay } }: PartOptions): number {
  if (team.verdicts.length === 0) return 0;
  const rejected = judgementsOf(team)
    .filter(({ kind }) => kind === "fail")
    .flatMap(({ path, draft }) => {
      if (path) return [path.map((step) => normalizer.normalize(step)).join(" ; ")];
      return draft ? [`answer: ${normalizer.normalize(draft.answer)}`] : [];
    });
  return samePlanDecay ** (rejected.length - new Set(rejected).size);
}

/** Share that is true; untested where there is none. */
const shareOf = (each: readonly boolean[]): Finding =>
  each.length === 0 ? "untested" : each.filter(Boolean).length / each.length;
