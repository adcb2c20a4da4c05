import { isCut } from "../rollout/groups.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Collected } from "./collect.ts";
import { policyTokens } from "./metrics.ts";

/**
 * What a step's deadline cut, by length, beside what had ended: where the cut ones are the longer ones, the policy is
 * learning from its short episodes. Turns are policy segments, tokens the policy's, both of whole turns only.
 */
export function cutMetrics({ sampled, failed }: Collected): Record<string, number> {
  const cut = failed.filter(isCut);
  const finished = sampled.flatMap(({ group }) => group.members);
  return {
    cut_episodes: cut.length,
    ...(cut.length > 0 ? means("cut", cut) : {}),
    ...(finished.length > 0 ? means("finished", finished) : {}),
  };
}

function means(name: string, episodes: readonly Trajectory[]): Record<string, number> {
  const mean = (f: (t: Trajectory) => number) => episodes.reduce((sum, t) => sum + f(t), 0) / episodes.length;
  return { [`${name}_turns_mean`]: mean(turns), [`${name}_tokens_mean`]: mean(policyTokens) };
}

const turns = ({ sequences }: Trajectory) =>
  sequences.reduce((n, { segments }) => n + segments.filter(({ source }) => source === "policy").length, 0);
