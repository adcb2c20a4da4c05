import type { UpdateReport } from "./learner.ts";
import type { WeightedRow } from "./micro-batch.ts";
import { klEstimators } from "./reference/kl.ts";
import type { KlName } from "./surrogate.ts";

/** What is trained on beside the policy loss; the loss is pg + klCoefficient·kl − entropyCoefficient·entropy. */
export interface LossTerms {
  /** The whole loss of the update. */
  readonly loss: number;
  /** Estimate of KL(π_θ‖π_ref), in nats a token, over the policy tokens; absent without a KL term. */
  readonly klRef?: number;
  /** klCoefficient·Σ w·kl, as it stands in the loss; absent without a KL term. */
  readonly klLoss?: number;
  /** entropyCoefficient·Σ w·H, as it is taken off the loss; absent without one. */
  readonly entropyBonus?: number;
}

/** The loss that one update took its gradient of, in plain numbers from what its forward pass computed. */
export function lossTerms(
  rows: readonly WeightedRow[],
  { policyLoss, logprobs, entropies }: Pick<UpdateReport, "policyLoss" | "logprobs" | "entropies">,
  o: { readonly kl: KlName; readonly klCoefficient: number; readonly entropyCoefficient: number },
): LossTerms {
  const estimator = o.kl === "none" ? undefined : klEstimators[o.kl];
  let [tokens, sum, weighed, entropy] = [0, 0, 0, 0];
  rows.forEach(({ mask, weights, reference }, r) => {
    mask.forEach((m, t) => {
      const weight = weights[t]!;
      if (weight !== 0) entropy += weight * entropies[r]![t]!;
      if (m === 0 || !estimator) return;
      const kl = estimator(logprobs[r]![t]!, reference![t]!);
      tokens++;
      sum += kl;
      weighed += weight * kl;
    });
  });
  const klLoss = o.klCoefficient * weighed;
  const entropyBonus = o.entropyCoefficient * entropy;
  return {
    loss: policyLoss + klLoss - entropyBonus,
    ...(estimator && { klRef: sum / Math.max(1, tokens), klLoss }),
    ...(o.entropyCoefficient === 0 ? {} : { entropyBonus }),
  };
}
