import { InvariantError } from "../core/errors.ts";
import type { Scored } from "../reward/scored.ts";

/** Why a group is kept or carries no signal. */
export type Verdict =
  /** The metric differs between members: train on it. */
  | "kept"
  /** Equal, and every member's answer is right. */
  | "allRight"
  /** Equal, and no member's answer is right. */
  | "allWrong"
  /** Equal for another reason, e.g. right and wrong answers of the same reward. */
  | "tie"
  /** Fewer than two members are left (the others failed by infrastructure): there is no baseline. */
  | "tooFew";

/** max − min; 0 for an empty list. An exact test of std === 0 would keep dead groups: eight 0.1 have std 1.5e-17. */
export function spread(values: readonly number[]): number {
  return values.length === 0 ? 0 : Math.max(...values) - Math.min(...values);
}

/** Groups whose metric spreads no further than this carry no signal (SkyRL's tolerance). */
export const spreadTolerance = 1e-6;

/**
 * Classifies a group by the spread of a named metric: "reward" (what is optimised) or the name of a reward part
 * ("exactMatch" is DAPO's). Right means `parts.exactMatch` is 1; without that part an equal group is a tie.
 * @throws InvariantError when a member lacks the part.
 */
export function classify(members: readonly Scored[], metric: string): Verdict {
  if (members.length < 2) return "tooFew";
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
