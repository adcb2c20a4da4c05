import { zip } from "../core/zip.ts";
import type { Params } from "../engine/array.ts";
import { importanceOf } from "./config.ts";
import {
  type ImportanceBounds,
  type ImportanceMode,
  importanceRatios,
  importanceWeights,
} from "./importance.ts";
import type { Learner } from "./learner.ts";
import type { WeightedRow } from "./micro-batch.ts";
import type { Trainer } from "./trainer.ts";

/** In process the recorded log-probabilities are π_old already: rows stay as they are unless a mode is asked for. */
export async function correct(
  t: Pick<Trainer, "learner" | "config" | "remote">,
  rows: readonly WeightedRow[],
  trainable: (version: number) => Params,
): Promise<readonly WeightedRow[]> {
  const importance = importanceOf(t.config, t.remote !== undefined);
  if (!t.remote && importance.mode === "none") return rows;
  return recompute(t.learner, rows, { trainable, importance });
}

/**
 * Rows with log π_old as the trainer computes it under the version that sampled them, the sampler's own kept beside it,
 * and every advantage times its importance weight. All rows are of one temperature.
 */
export async function recompute(
  learner: Pick<Learner, "logprobs">,
  rows: readonly WeightedRow[],
  o: {
    /** Weights that learn, of a version. */
    trainable: (version: number) => Params;
    importance: ImportanceBounds & { readonly mode: ImportanceMode };
  },
): Promise<WeightedRow[]> {
  const { mode } = o.importance;
  const out = new Array<WeightedRow>(rows.length);
  for (const version of new Set(rows.map((row) => row.version ?? 0))) {
    const at = rows.flatMap((row, i) => ((row.version ?? 0) === version ? [i] : []));
    const own = at.map((i) => rows[i]!);
    const logprobs = await learner.logprobs(own, own[0]!.temperature, o.trainable(version));
    for (const [i, list] of zip(at, logprobs)) {
      const row = rows[i]!;
      const { mask, oldLogprobs: sampler } = row;
      // A learner that computes every position gives numbers where nothing was sampled, too.
      const old = list.map((x, t) => (mask[t] === 0 ? 0 : x));
      const gap = { old, sampler, mask };
      const weights = importanceWeights(mode, gap, o.importance);
      out[i] = {
        ...row,
        oldLogprobs: old,
        sampler,
        ...(mode === "none" ? {} : { importance: { ratios: importanceRatios(mode, gap), weights } }),
        advantages: zip(row.advantages, weights).map(([a, w], t) => (mask[t] === 0 ? 0 : a * w)),
      };
    }
  }
  return out;
}
