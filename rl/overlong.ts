import { InvariantError } from "../core/errors.ts";

/**
 * DAPO's soft overlong punishment (eq. 13), in [−1, 0], added to the reward: 0 up to maxTokens − bufferTokens, falling
 * linearly to −1 at maxTokens, −1 beyond. `policyTokens` counts sampled tokens only, never observations.
 */
export function softOverlong(policyTokens: number, maxTokens: number, bufferTokens: number): number {
  if (!(bufferTokens > 0 && bufferTokens <= maxTokens))
    throw new InvariantError({
      what: "overlong buffer out of range",
      got: `${bufferTokens}`,
      expected: `1 to ${maxTokens}`,
    });
  const over = policyTokens - (maxTokens - bufferTokens);
  return over <= 0 ? 0 : Math.max(-1, -over / bufferTokens);
}
