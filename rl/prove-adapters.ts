import { SamplerError } from "../core/errors.ts";
import type { Params } from "../engine/array.ts";
import { meanAbs, type Score, syntheticAdapter } from "./canary.ts";
import type { Learner } from "./learner.ts";

/**
 * Proves that servers apply adapters, once a run: a server may take one and ignore it (a wrong key prefix loads with
 * 200). With a synthetic adapter of large effect each must be nearer to the trainer with it than without.
 * @returns a line for the log. @throws SamplerError when one is not
 */
export async function proveAdapters(o: {
  learner: Pick<Learner, "logprobs">;
  tokens: readonly number[];
  /** Version 0: its weights and the trainer's own scores under them. */
  own: { readonly trainable: Params; readonly scores: readonly number[] };
  /** Loads the adapter, scores the fixed prompt with it on every server, unloads it. */
  scored: (trainable: Params) => ReturnType<Score>;
}): Promise<string> {
  const synthetic = await syntheticAdapter(o.learner, o.tokens, o.own);
  const servers = await o.scored(synthetic.trainable);
  if (servers.length === 0) return "no server could be asked whether it applies adapters";
  const lines = servers.map((server) => {
    const [applied, ignored] = [meanAbs(server, synthetic.scores), meanAbs(server, o.own.scores)];
    const facts = `mean |Δ logprob| ${applied.toPrecision(2)} from the trainer with a synthetic adapter, ${ignored.toPrecision(2)} without`;
    if (applied < ignored / 2) return facts;
    throw new SamplerError({
      what: "a server takes adapters and does not apply them",
      got: facts,
      expected: "much nearer with it",
      next: "Check that it serves this run's base model, and applies LoRA to all projections the run adapts.",
    });
  });
  return lines.join("; ");
}
