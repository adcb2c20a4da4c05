import { zip } from "../core/zip.ts";
import type { Gap } from "./importance.ts";
import { maxLogRatio } from "./reference/surrogate.ts";
import type { Row } from "./row.ts";

/**
 * How far the trainer's probabilities of the sampled tokens are from the sampler's, over all tokens whose mask is 1,
 * with Δ = log π_trainer − log π_sampler of the same version and temperature and w = e^Δ:
 * mean, 99th percentile (nearest rank) and maximum of |Δ|; k3 = mean(w − 1 − Δ), which estimates KL(sampler‖trainer);
 * ess = (Σw)²/(n·Σw²) in (0, 1]; ratio_mean = mean w, 1 in expectation. {} without a token.
 */
export function mismatchMetrics(gaps: readonly Gap[]): Record<string, number> {
  const sizes: number[] = [];
  let [sum, k3, total, squares] = [0, 0, 0, 0];
  for (const { old, sampler, mask } of gaps)
    zip(old, sampler).forEach(([o, s], t) => {
      if (mask[t] === 0) return;
      const delta = Math.max(-maxLogRatio, Math.min(maxLogRatio, o - s));
      const ratio = Math.exp(delta);
      sizes.push(Math.abs(o - s));
      sum += Math.abs(o - s);
      k3 += ratio - 1 - delta;
      total += ratio;
      squares += ratio * ratio;
    });
  const n = sizes.length;
  if (n === 0) return {};
  sizes.sort((a, b) => a - b);
  return {
    "mismatch/mean_abs": sum / n,
    "mismatch/p99_abs": sizes[Math.ceil(0.99 * n) - 1]!,
    "mismatch/max_abs": sizes[n - 1]!,
    "mismatch/k3": k3 / n,
    "mismatch/ess": total ** 2 / (n * squares),
    "mismatch/ratio_mean": total / n,
  };
}

/** What was learnt from, as far as the gap needs it. */
interface Learnt {
  readonly rows: readonly Row[];
  readonly report: { readonly logprobs: readonly (readonly number[])[] };
}

/**
 * The gap of one step. Rows whose π_old was recomputed hold both sides; otherwise the first update's own forward is the
 * trainer's side for free, since before it the weights are those that sampled.
 */
export function stepMismatch(learnt: readonly Learnt[]): Record<string, number> {
  const rows = learnt.flatMap((update) => update.rows);
  const recomputed = rows.flatMap(({ oldLogprobs: old, sampler, mask }) =>
    sampler ? [{ old, sampler, mask }] : [],
  );
  if (recomputed.length > 0) return { ...mismatchMetrics(recomputed), ...importanceMetrics(rows) };
  const first = learnt[0];
  if (!first) return {};
  return mismatchMetrics(
    zip(first.rows, first.report.logprobs).map(([row, old]) => ({
      old,
      sampler: row.oldLogprobs,
      mask: row.mask,
    })),
  );
}

/** Over the tokens of rows that were weighed: share whose weight was capped or set to 0, and the mean weight. */
function importanceMetrics(rows: readonly Row[]): Record<string, number> {
  let [n, clipped, sum] = [0, 0, 0];
  for (const { importance, mask } of rows)
    importance?.weights.forEach((weight, t) => {
      if (mask[t] === 0) return;
      n++;
      sum += weight;
      if (weight !== importance.ratios[t]) clipped++;
    });
  return n === 0 ? {} : { "importance/clipped_frac": clipped / n, "importance/weight_mean": sum / n };
}
