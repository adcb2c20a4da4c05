import { InvariantError } from "../core/errors.ts";
import type { Trajectory } from "../rollout/trajectory.ts";

/**
 * DAPO's soft overlong punishment (eq. 13), in [−1, 0]: 0 up to maxTokens − bufferTokens, falling linearly to −1 at
 * maxTokens, −1 beyond. `tokens` counts sampled tokens only, never observations.
 */
export function softOverlong(tokens: number, maxTokens: number, bufferTokens: number): number {
  if (!(bufferTokens > 0 && bufferTokens <= maxTokens))
    throw new InvariantError({
      what: "overlong buffer out of range",
      got: `${bufferTokens}`,
      expected: `1 to ${maxTokens}`,
    });
  const over = tokens - (maxTokens - bufferTokens);
  return over <= 0 ? 0 : Math.max(-1, -over / bufferTokens);
}

/** Tokens that the policy sampled, in all sequences. */
export function sampledTokens({ sequences }: Trajectory): number {
  let n = 0;
  for (const { segments } of sequences)
    for (const { source, tokens } of segments) if (source === "policy") n += tokens.length;
  return n;
}
