import type { Trajectory } from "../../rollout/trajectory.ts";
import { roleMetrics } from "./roles.ts";

/**
 * What a collapse shows in beside reward, entropy and gradient: `observation_share`, tokens of tools among all tokens;
 * `correct_logprob`, mean log-probability in nats of the policy's tokens in right episodes when they were sampled, which
 * falls before a policy loses what it could; `searches_per_call` of the roles that searched; and how alike roles are. Each only where there is something to measure.
 */
export function collapseSigns(
  episodes: readonly Pick<Trajectory, "sequences" | "ending">[],
  correct: readonly Pick<Trajectory, "sequences">[],
  roleOf?: (seat: string) => string,
): Record<string, number> {
  let [all, observed] = [0, 0];
  for (const { source, tokens } of segmentsOf(episodes)) {
    all += tokens.length;
    if (source === "observation") observed += tokens.length;
  }
  let [sampled, sum] = [0, 0];
  for (const { source, logprobs } of segmentsOf(correct)) {
    if (source !== "policy" || logprobs === undefined) continue;
    sampled += logprobs.length;
    for (const logprob of logprobs) sum += logprob;
  }
  const calls = episodes
    .flatMap(({ ending }) => ending?.team?.calls ?? [])
    .filter((call) => call.searches > 0);
  return {
    ...(calls.length > 0 && {
      searches_per_call: calls.reduce((n, call) => n + call.searches, 0) / calls.length,
    }),
    ...(all > 0 && { observation_share: observed / all }),
    ...(sampled > 0 && { correct_logprob: sum / sampled }),
    ...roleMetrics(episodes, roleOf),
  };
}

/** Segments of what the policy played. */
function* segmentsOf(episodes: readonly Pick<Trajectory, "sequences">[]) {
  for (const { sequences } of episodes)
    for (const { outside, segments } of sequences) if (!outside) yield* segments;
}
