import { softOverlong } from "../reward/length.ts";
import { mapScorer } from "../reward/score-all.ts";
import type { Scorer } from "../reward/scored.ts";
import type { RlConfig } from "./config.ts";
import { policyTokens } from "./metrics.ts";

/**
 * The scorer that training uses: the run's own, and with `overlong: penalty` the punishment as a further part `overlong`
 * that is added to the reward. Evaluations never see it.
 */
export function scorerOf({
  score,
  config: { overlong, overlongTokens, overlongBuffer },
}: {
  readonly score: Scorer;
  readonly config: Pick<RlConfig, "overlong" | "overlongTokens" | "overlongBuffer">;
}): Scorer {
  if (overlong !== "penalty") return score;
  return mapScorer(score, (scored) => {
    const penalty = softOverlong(policyTokens(scored), overlongTokens, overlongBuffer);
    return {
      ...scored,
      parts: { ...scored.parts, overlong: penalty },
      reward: scored.reward + penalty,
    };
  });
}
