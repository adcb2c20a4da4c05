import type { Learnt } from "./trainer.ts";

/**
 * Of each adapter that learnt in a step, where the policy has several: loss and gradient norm as means over its updates,
 * the entropy of its policy tokens and their number. Nothing of one that was frozen.
 */
export function adapterMetrics(learnt: readonly Learnt[]): Record<string, number> {
  const sums = new Map<
    string,
    { loss: number; norm: number; updates: number; entropy: number; tokens: number }
  >();
  for (const { rows, report } of learnt) {
    for (const [adapter, { policyLoss, gradNorm }] of Object.entries(report.adapters ?? {})) {
      const sum = sums.get(adapter) ?? { loss: 0, norm: 0, updates: 0, entropy: 0, tokens: 0 };
      sums.set(adapter, sum);
      sum.loss += policyLoss;
      sum.norm += gradNorm;
      sum.updates++;
      rows.forEach((row, r) => {
        if (row.adapter !== adapter) return;
        row.mask.forEach((m, t) => {
          if (m === 0) return;
          sum.entropy += report.entropies[r]![t]!;
          sum.tokens++;
        });
      });
    }
  }
  return Object.fromEntries(
    [...sums].flatMap(([adapter, { loss, norm, updates, entropy, tokens }]) => [
      [`adapter/${adapter}/pg_loss`, loss / updates],
      [`adapter/${adapter}/grad_norm`, norm / updates],
      [`adapter/${adapter}/entropy`, entropy / Math.max(1, tokens)],
      [`adapter/${adapter}/tokens`, tokens],
    ]),
  );
}
