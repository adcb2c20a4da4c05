import { rng } from "../core/rng.ts";
import { advantagesOf } from "./advantage.ts";
import { weigh } from "./aggregation.ts";
import { handOver } from "./hand-over.ts";
import { policyTokens } from "./metrics.ts";
import { openPipeline, type Pipeline } from "./pipeline.ts";
import { correct } from "./recompute.ts";
import { withReference } from "./reference-logprobs.ts";
import { reportOf } from "./report.ts";
import { toRows } from "./rows.ts";
import { learningRateAt } from "./schedule.ts";
import type { Learnt, StepReport, Trainer } from "./trainer.ts";

/** One step of RL, top to bottom. `step` counts from 0. */
export async function trainStep(t: Trainer, step: number, rollouts: Pipeline): Promise<StepReport> {
  const { collected, trainable, metrics } = await rollouts.take(step); //       groups of G, scored and filtered
  const learning = collected.kept.map(({ group }) => ({
    group,
    advantages: advantagesOf(t.algorithm.advantage, group.members), //           [G]
  }));

  const began = t.clock();
  const { updatesPerStep, constantTokens, overlong } = t.config;
  const sampled = collected.sampled.flatMap((j) => j.group.members).reduce((n, m) => n + policyTokens(m), 0);
  const denominators = { sampledTokens: sampled / updatesPerStep, constantTokens };
  const learningRate = learningRateAt(step, t.config.steps, t.config.schedule);
  const learnt: Learnt[] = [];
  const order = rng(t.seed, "minibatch", step).shuffle(learning);
  for (let update = 0; update < updatesPerStep; update++) {
    const share = order.filter((_, i) => i % updatesPerStep === update);
    const rows = toRows(share, { kinds: t.kinds, maskCut: overlong === "mask" }); // one a sequence, each [T]
    const weighted = weigh(rows, t.algorithm.aggregation, denominators); //       w of each token
    if (weighted.length === 0) continue;
    const corrected = await correct(t, weighted, trainable); //                   log π_old, π_old/π_sampler
    const ready = await withReference(t, corrected); //                           log π_ref
    const { temperature } = ready[0]!;
    learnt.push({ rows: ready, report: await t.learner.update(ready, { temperature, learningRate }) }); // version + 1
  }
  const updateSeconds = t.clock() - began;
  const { failure, ...published } = await handOver(t, { learnt: learnt.length > 0, collected }); // to whoever samples
  rollouts.done(step);
  const more = { ...metrics, ...published.metrics };
  return {
    ...reportOf(t, { step, collected, learning, learnt, learningRate, updateSeconds, more }),
    ...(failure === undefined ? {} : { failure }),
  };
}

/** The whole run. The caller decides what to log, when to evaluate and when to save. */
export async function* train(t: Trainer, from: number, to: number): AsyncGenerator<StepReport> {
  const rollouts = openPipeline(t, from, to);
  try {
    for (let step = from; step < to; step++) {
      const report = await trainStep(t, step, rollouts);
      yield report;
      if (report.failure !== undefined) throw report.failure;
    }
  } finally {
    await rollouts.close();
  }
}
