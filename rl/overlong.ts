import { softOverlong } from "../reward/length.ts";
import { mapScorer } from "../reward/score-all.ts";
import type { Scorer } from "../reward/scored.ts";
import type { RlConfig } from "./config.ts";
import { policyTokens } from "./metrics.ts";
import { crediting } from "./turn-credit.ts";

/**
 * The scorer that training uses: the run's own; with `turnCredit` it says what each turn was worth, and with
 * `overlong: penalty` the punishment is a further part `overlong` that is added to the reward. Evaluations see neither.
 */
export function scorerOf({
  score: plain,
  config: { overlong, overlongTokens, overlongBuffer, turnCredit },
}: {
  readonly score: Scorer;
  readonly config: Pick<RlConfig, "overlong" | "overlongTokens" | "overlongBuffer" | "turnCredit">;
}): Scorer {
  const score = turnCredit > 0 ? crediting(plain) : plain;
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
