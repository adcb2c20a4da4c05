import type { Group, Trajectory } from "../rollout/trajectory.ts";
import { isPolicyOutcome } from "../rollout/trajectory.ts";
import type { Scored, Scorer } from "./scored.ts";

/** The scorer as it weighs after `step` updates. */
export const atStep = (score: Scorer, step: number): Scorer => score.at?.(step) ?? score;

/** A scorer whose results are changed; what it fetches, and how it sees steps and groups, stays. */
export function mapScorer(score: Scorer, change: (scored: Scored) => Scored): Scorer {
  const { at, withTurnCredits, reweighed, prepare, regroup, identity, keepIn, close } = score;
  return Object.assign((trajectory: Trajectory) => change(score(trajectory)), {
    ...(at && { at: (step: number) => mapScorer(at(step), change) }),
    ...(withTurnCredits && { withTurnCredits: () => mapScorer(withTurnCredits(), change) }),
    ...(reweighed && {
      reweighed: (factors: Readonly<Record<string, number>>) => mapScorer(reweighed(factors), change),
    }),
    ...(prepare && { prepare }),
    ...(regroup && { regroup: (members: readonly Scored[]) => regroup(members).map(change) }),
    ...(identity && { identity }),
    ...(keepIn && { keepIn }),
    ...(close && { close }),
  });
}

/**
 * Scores episodes, in order. Those that ended by no doing of the policy come back as they are; one that could not be judged
 * comes back as infra(scorer): it has no reward, and least of all a zero.
 */
export async function scoreAll(
  score: Scorer,
  trajectories: readonly Trajectory[],
  signal: AbortSignal = new AbortController().signal,
): Promise<(Scored | Trajectory)[]> {
  const scorable = trajectories.filter(({ outcome }) => isPolicyOutcome(outcome));
  const failures = scorable.length > 0 ? await score.prepare?.(scorable, signal) : undefined;
  return trajectories.map((trajectory) => {
    const failure = failures?.get(trajectory);
    if (failure !== undefined) return { ...trajectory, outcome: "infra(scorer)" as const, failure };
    return isPolicyOutcome(trajectory.outcome) ? score(trajectory) : trajectory;
  });
}

export interface ScoredGroups {
  /** In the order given, each with the members that could be scored. */
  readonly groups: readonly Group<Scored>[];
  /** Members that could not. */
  readonly failed: readonly Trajectory[];
}

/** Scores whole groups, also where a reward depends on the group. */
export async function scoreGroups(
  score: Scorer,
  groups: readonly Group[],
  signal?: AbortSignal,
): Promise<ScoredGroups> {
  const all = await scoreAll(
    score,
    groups.flatMap(({ members }) => members),
    signal,
  );
  const failed: Trajectory[] = [];
  let at = 0;
  return {
    groups: groups.map(({ task, members }) => {
      const scored = all.slice(at, at + members.length).filter((each) => {
        if (isScored(each)) return true;
        failed.push(each);
        return false;
      }) as Scored[];
      at += members.length;
      return { task, members: score.regroup?.(scored) ?? scored };
    }),
    failed,
  };
}

export const isScored = (each: Scored | Trajectory): each is Scored => "parts" in each;
