import { InvariantError } from "../core/errors.ts";
import type { Scored } from "../reward/scored.ts";
import { metricOf } from "./filter.ts";

/** Advantages of one group, from one number of each member, [G] → [G], G ≥ 2; broadcast to the member's policy tokens. */
export type Advantage = (values: readonly number[]) => number[];

/**
 * Advantages against a baseline of the group itself. A group of one has no baseline: other trainers silently return the raw reward there
 * and so train plain REINFORCE; here it throws.
 */
export const baselines = {
  /** z-score with the unbiased standard deviation + 1e-6 (DeepSeekMath eq. 3; verl's constants). */
  grpo: (rewards) => {
    const centred = centre(rewards);
    const variance = centred.reduce((sum, a) => sum + a * a, 0) / (rewards.length - 1);
    return centred.map((a) => a / (Math.sqrt(variance) + 1e-6));
  },
  /** Centred, not scaled (Dr.GRPO, Liu et al. 2025). */
  drGrpo: (rewards) => centre(rewards),
  /** Reward minus the mean of the others (RLOO, Ahmadian et al. 2024): centred × G/(G−1). */
  rloo: (rewards) => centre(rewards).map((a) => (a * rewards.length) / (rewards.length - 1)),
} satisfies Record<string, Advantage>;

/** How a group's advantages come about: from which metric of its members, and how. */
interface AdvantageRow {
  /** `reward`, or the name of a reward part. */
  readonly metric: string;
  readonly of: Advantage;
}

const rewarded = (of: Advantage): AdvantageRow => ({ metric: "reward", of });

export const advantages = {
  grpo: rewarded(baselines.grpo),
  drGrpo: rewarded(baselines.drGrpo),
  rloo: rewarded(baselines.rloo),
  /** 1 for a right answer, else 0: with `reinforce` the likelihood of one's own correct episodes (RAFT, Dong et al. 2023). */
  correct: { metric: "exactMatch", of: (matches) => matches.map((match) => (match === 1 ? 1 : 0)) },
} satisfies Record<string, AdvantageRow>;

export type AdvantageName = keyof typeof advantages;

/** Advantage of each member of a group, [G]. @throws InvariantError for a metric that a member lacks */
export function advantagesOf(name: AdvantageName, members: readonly Scored[]): number[] {
  const { metric, of } = advantages[name];
  return of(members.map((member) => metricOf(member, metric)));
}

/** r − mean(r); exactly zero when all are equal, where the rounded mean of eight 0.1 is not 0.1. */
function centre(rewards: readonly number[]): number[] {
  if (rewards.length < 2)
    throw new InvariantError({
      what: "advantage of a group without a baseline",
      got: `${rewards.length} members`,
    });
  if (!rewards.every(Number.isFinite))
    throw new InvariantError({ what: "a reward is not a finite number", got: rewards.join(", ") });
  if (rewards.every((r) => r === rewards[0])) return rewards.map(() => 0);
  const mean = rewards.reduce((sum, r) => sum + r, 0) / rewards.length;
  return rewards.map((r) => r - mean);
}
