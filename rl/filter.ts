import { InvariantError } from "../core/errors.ts";
import type { Scored } from "../reward/scored.ts";
import type { Algorithm } from "./presets.ts";

/** What became of a sampled group: whether it is learned from, or why not. Which of these occur is the filter's choice. */
export type Verdict =
  /** Learned from: the filter let it through, and the step had a place for it. */
  | "kept"
  /** The filter let it through, but a refill had brought more groups than the step wants. */
  | "surplus"
  /** Dropped by `spread`: the metric is equal, and every member's answer is right. */
  | "allRight"
  /** Dropped by `spread`: equal, and no member's answer is right. Dropped by `correct`: no member has a metric of 1. */
  | "allWrong"
  /** Dropped by `spread`: equal for another reason, e.g. right and wrong answers of the same reward. */
  | "tie"
  /** Under any filter: fewer than two members are left (the others failed by infrastructure), so there is no baseline. */
  | "tooFew"
  /** Under any filter: no group of its own, but the members of one that a hack detector took out (reward.hacks). */
  | "hack"
  /** Under any filter: sampled by a version that is too old by now, or by several. */
  | "stale";

/** How each filter reads a group of two or more. */
const filters: Record<Algorithm["filter"], (members: readonly Scored[], metric: string) => Verdict> = {
  spread: classify,
  correct: (members, metric) => (members.some((m) => metricOf(m, metric) === 1) ? "kept" : "allWrong"),
  none: () => "kept",
};

/** The filter's verdict on a group, before anyone counts how many are wanted. */
export function judge(
  members: readonly Scored[],
  { filter, filterMetric }: Pick<Algorithm, "filter" | "filterMetric">,
): Verdict {
  return members.length < 2 ? "tooFew" : filters[filter](members, filterMetric);
}

/** max − min; 0 for an empty list. An exact test of std === 0 would keep dead groups: eight 0.1 have std 1.5e-17. */
export function spread(values: readonly number[]): number {
  return values.length === 0 ? 0 : Math.max(...values) - Math.min(...values);
}

/** Groups whose metric spreads no further than this carry no signal (SkyRL's tolerance). */
export const spreadTolerance = 1e-6;

/**
 * Classifies a group of two or more by the spread of a named metric: "reward" (what is optimised) or the name of a reward
 * part ("exactMatch" is DAPO's). Right means `parts.exactMatch` is 1; without that part an equal group is a tie.
 * @throws InvariantError when a member lacks the part.
 */
export function classify(
  members: readonly Scored[],
  metric: string,
): "kept" | "allRight" | "allWrong" | "tie" {
  if (spread(members.map((member) => metricOf(member, metric))) > spreadTolerance) return "kept";
  const marks = members.map((member) => member.parts.exactMatch);
  if (marks.every((mark) => mark === 1)) return "allRight";
  if (marks.every((mark) => mark === 0)) return "allWrong";
  return "tie";
}

/** The reward, or the raw value of a part. */
export function metricOf(member: Scored, metric: string): number {
  const value = metric === "reward" ? member.reward : member.parts[metric];
  if (value !== undefined && Number.isFinite(value)) return value;
  throw new InvariantError({
    what: `metric \`${metric}\` has no value`,
    where: `task ${member.task.id}, member ${member.member}`,
    got: String(value),
    expected: `reward or one of ${Object.keys(member.parts).join(", ")}`,
  });
}
