import { ForagerError } from "../core/errors.ts";
import type { Params } from "../engine/array.ts";
import type { Rolled } from "../rollout/groups.ts";

/** Training left the numbers that can be computed with. The run ends; its last checkpoint is of before. */
export class DivergedError extends ForagerError {}

/** No model that works has such a weight, and the products of a few of them leave float32's range. */
const largestWeight = 1e6;

/**
 * Checks an optimiser step before its weights replace the earlier ones.
 * @throws DivergedError for a loss or gradient that is no number, and for weights that are none or beyond 10⁶
 */
export function checkUpdate(o: {
  readonly policyLoss: number;
  readonly gradNorm: number;
  readonly weights: Params;
  /** Optimiser steps before this one. */
  readonly updates: number;
  /** The config's key of the learning rate. */
  readonly rateKey: string;
}): void {
  const { policyLoss, gradNorm, updates, rateKey } = o;
  const finite = Number.isFinite(policyLoss) && Number.isFinite(gradNorm);
  const wild = finite ? wildWeight(o.weights) : undefined;
  if (finite && wild === undefined) return;
  throw new DivergedError({
    what: "the training diverged",
    where: `optimiser step ${updates + 1}`,
    got: wild ?? `loss ${policyLoss}, gradient norm ${gradNorm}`,
    expected: wild ? "weights that are numbers, below 1e6" : "finite numbers",
    next: `Start a new run with a lower ${rateKey}; the last checkpoint has the weights from before.`,
  });
}

/** The first weight that is out of bounds, in words. */
function wildWeight(weights: Params): string | undefined {
  for (const [name, { data }] of Object.entries(weights))
    for (const x of data as Float32Array) if (!(Math.abs(x) <= largestWeight)) return `${name} holds ${x}`;
  return undefined;
}

/**
 * Checks what the in-process policy played: no network stands between, so where its sampler failed in every episode the
 * weights give no numbers any more. Evaluations would only count such episodes as failures of infrastructure.
 * @throws DivergedError
 */
export function checkSampled(rolled: Rolled): Rolled {
  const { groups, tooFew, leftOut } = rolled;
  const played = [...groups, ...tooFew].some(({ members }) => members.length > 0);
  if (played || leftOut.length === 0 || leftOut.some(({ outcome }) => outcome !== "infra(model)"))
    return rolled;
  throw new DivergedError({
    what: "the policy can no longer be sampled",
    got: leftOut[0]!.failure ?? "",
    next: "Its weights have diverged: start a new run with a lower learning rate, from an earlier checkpoint where there is one.",
  });
}
