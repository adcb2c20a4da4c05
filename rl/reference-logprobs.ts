import { zip } from "../core/zip.ts";
import type { WeightedRow } from "./micro-batch.ts";
import type { Trainer } from "./trainer.ts";

/** Rows with log π_ref of each token where the algorithm has a KL term, else as they are. All are of one temperature. */
export async function withReference(
  t: Pick<Trainer, "algorithm" | "learner" | "reference">,
  rows: readonly WeightedRow[],
): Promise<readonly WeightedRow[]> {
  if (t.algorithm.kl === "none") return rows;
  const logprobs = await t.learner.logprobs(rows, rows[0]!.temperature, t.reference);
  return zip(rows, logprobs).map(([row, reference]) => ({ ...row, reference }));
}
