import type { AdamState } from "../rl/adam.ts";
import { createLearner, type Learner } from "../rl/learner.ts";
import type { Policy } from "../rl/policy/policy.ts";
import type { RunState } from "../rl/run-checkpoint.ts";
import { learningRateAt } from "../rl/schedule.ts";
import { sftBatches, sftStep } from "../rl/sft.ts";
import type { Metrics } from "../track/run-db.ts";
import { scriptedExperts } from "./demonstrations.ts";
import type { Setup } from "./setup.ts";
import { storedTrajectories } from "./stored-trajectories.ts";

/** SFT has no ratio and no baseline: it is REINFORCE with every advantage 1. */
const likelihood = {
  surrogate: "reinforce",
  kl: "none",
  klCoefficient: 0,
  clipLow: 0,
  clipHigh: 0,
  entropyCoefficient: 0,
} as const;

/** Supervised steps, one after the other; the caller logs and saves. Yields after each step, steps counted from 1. */
export async function* warmUp(
  setup: Setup,
  from: { step: number; policy: Policy; adam: AdamState },
): AsyncGenerator<RunState & { metrics: Metrics }> {
  const { sft } = setup.config;
  const source = sft.source;
  const demonstrate =
    source.kind === "experts" ? await scriptedExperts(setup) : await storedTrajectories(setup, source.path);
  const learner: Learner = createLearner({
    ...setup,
    policy: from.policy,
    loss: likelihood,
    optimizer: sft.optimizer,
    slots: sft.slots,
    ...(from.step > 0 ? { state: from.adam } : {}),
  });
  const batch = sftBatches(demonstrate, {
    slots: sft.slots,
    observationWeight: sft.observationWeight,
    contextTokens: from.policy.config.contextTokens,
  });
  for (let step = from.step; step < sft.steps; step++) {
    const began = performance.now();
    const rows = await batch(step);
    const drawn = performance.now();
    const lr = learningRateAt(step, sft.steps, sft.schedule);
    const report = await sftStep(learner, rows, lr);
    const seconds = (performance.now() - drawn) / 1e3;
    yield {
      phase: "sft",
      step: step + 1,
      policy: learner.policy,
      adam: learner.optimizer,
      metrics: {
        loss: report.loss,
        grad_norm: report.gradNorm,
        lr,
        rows: rows.length,
        tokens: report.tokens,
        slots: report.slots,
        tokens_per_second: report.tokens / seconds,
        seconds_update: seconds,
        seconds_demonstrations: (drawn - began) / 1e3,
      },
    };
  }
}
