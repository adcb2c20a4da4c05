import type { AdamState } from "../rl/adam.ts";
import { type SftStage, sftStages } from "../rl/config.ts";
import { createLearner } from "../rl/learner.ts";
import type { Policy } from "../rl/policy/policy.ts";
import type { RunState } from "../rl/run-checkpoint.ts";
import { learningRateAt } from "../rl/schedule.ts";
import { sftBatches, sftStep } from "../rl/sft.ts";
import type { Metrics } from "../track/run-db.ts";
import { type Demonstrate, scriptedExperts } from "./demonstrations.ts";
import type { Setup } from "./setup.ts";
import { storedTrajectories } from "./stored-trajectories.ts";
import { roleOfSeat, seatAdapters } from "./team-adapters.ts";

/** SFT has no ratio and no baseline: it is REINFORCE with every advantage 1. */
const likelihood = {
  surrogate: "reinforce",
  kl: "none",
  klCoefficient: 0,
  clipLow: 0,
  clipHigh: 0,
  entropyCoefficient: 0,
} as const;

const opened = new WeakMap<Setup, Map<number, Promise<Demonstrate>>>();

/** The demonstrations of one stage, opened once. */
function demonstrationsOf(
  setup: Setup,
  stage: SftStage,
  warn?: (text: string) => void,
): Promise<Demonstrate> {
  const { source, from } = stage;
  const stages = opened.get(setup) ?? new Map<number, Promise<Demonstrate>>();
  opened.set(setup, stages);
  const demonstrations =
    stages.get(from) ??
    (source.kind === "experts"
      ? scriptedExperts(setup, { ...stage, ...source })
      : storedTrajectories(setup, { ...source, learn: stage.learn }, warn));
  stages.set(from, demonstrations);
  return demonstrations;
}

/**
 * Opens the demonstrations that come from files, before there is a run folder. (Those of the synthetic world cannot
 * be missing, and take long to make.) What a file holds that is left out is told to `warn`. @throws DataError when there are none
 */
export async function checkWarmUp(setup: Setup, warn?: (text: string) => void): Promise<void> {
  for (const stage of sftStages(setup.config.sft))
    if (setup.world === undefined || stage.source.kind !== "experts")
      await demonstrationsOf(setup, stage, warn);
}

/** Supervised steps, one after the other; the caller logs and saves. Yields after each step, steps counted from 1. */
export async function* warmUp(
  setup: Setup,
  from: { step: number; policy: Policy; adam: AdamState },
): AsyncGenerator<RunState & { metrics: Metrics }> {
  let at = from;
  for (const stage of sftStages(setup.config.sft)) {
    if (at.step >= stage.from + stage.steps) continue;
    for await (const done of runStage(setup, stage, at)) {
      at = done;
      yield done;
    }
    opened.get(setup)?.delete(stage.from); // a world of thousands of pages is not needed any more
  }
}

async function* runStage(
  setup: Setup,
  stage: SftStage,
  at: { step: number; policy: Policy; adam: AdamState },
) {
  const { sft } = setup.config;
  const { schedule, steps } = stage;
  const demonstrate = await demonstrationsOf(setup, stage);
  const resumed = at.step > stage.from ? { state: at.adam } : {};
  const learner = createLearner({
    ...setup,
    policy: at.policy,
    loss: likelihood,
    optimizer: sft.optimizer,
    slots: sft.slots,
    rateKey: stage.from === 0 ? "sft.schedule.learningRate" : "sft.more[].schedule.learningRate",
    ...resumed,
  });
  const { contextTokens } = at.policy.config;
  const batch = sftBatches(demonstrate, {
    slots: sft.slots,
    observationWeight: sft.observationWeight,
    contextTokens,
    adapterOf: seatAdapters(setup.config),
    ...(stage.learn && { learns: (seat) => stage.learn!.some((role) => role === roleOfSeat(seat)) }),
  });
  for (let step = at.step; step < stage.from + steps; step++) {
    const began = performance.now();
    const rows = await batch(step);
    const drawn = performance.now();
    const lr = learningRateAt(step - stage.from, steps, schedule);
    const report = await sftStep(learner, rows, lr);
    const seconds = Math.max(1e-9, (performance.now() - drawn) / 1e3);
    yield {
      phase: "sft" as const,
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
