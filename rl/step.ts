import { rng } from "../core/rng.ts";
import { advantagesOf } from "./advantage.ts";
import { weighEach } from "./aggregation.ts";
import { handOver } from "./hand-over.ts";
import { openPipeline, type Pipeline } from "./pipeline.ts";
import { correct } from "./recompute.ts";
import { withReference } from "./reference-logprobs.ts";
import { reportOf } from "./report.ts";
import { toRows } from "./rows.ts";
import { learningRateAt } from "./schedule.ts";
import { roleRules, tokensOf } from "./team-learning.ts";
import { seenOf } from "./team-watch.ts";
import type { Learnt, StepReport, Trainer } from "./trainer.ts";
import { creditTurns } from "./turn-credit.ts";

/** One step of RL, top to bottom. `step` counts from 0. */
export async function trainStep(t: Trainer, step: number, rollouts: Pipeline): Promise<StepReport> {
  const { collected, trainable, metrics } = await rollouts.take(step); //       groups of G, scored and filtered
  const learning = collected.kept.map(({ group }) => {
    const advantages = advantagesOf(t.algorithm.advantage, group.members); //    [G]
    return { group, advantages, ...creditTurns(t.config, advantages, group.members) };
  });

  const began = t.clock();
  const { updatesPerStep, constantTokens, overlong } = t.config;
  const roles = roleRules(t, step, learning); //                                 adapters, who learns, calls equalised
  const episodes = collected.sampled.flatMap((j) => j.group.members);
  const denominators = (adapter: string | undefined) => {
    const sampled = tokensOf(episodes, adapter, (seat) => roles?.adapterOf(seat));
    return { sampledTokens: sampled / updatesPerStep, constantTokens };
  };
  const scheduled = learningRateAt(step, t.config.steps, t.config.schedule);
  const learningRate = t.steering?.rate(scheduled) ?? scheduled;
  const learnt: Learnt[] = [];
  const order = rng(t.seed, "minibatch", step).shuffle(learning);
  for (let update = 0; update < updatesPerStep; update++) {
    const share = order.filter((_, i) => i % updatesPerStep === update);
    const rows = toRows(share, { kinds: t.kinds, maskCut: overlong === "mask", roles }); // one a sequence, each [T]
    const weighted = weighEach(rows, t.algorithm.aggregation, denominators); //       w of each token
    if (weighted.length === 0) continue;
    const corrected = await correct(t, weighted, trainable); //                   log π_old, π_old/π_sampler
    const ready = await withReference(t, corrected); //                           log π_ref
    const { temperature } = ready[0]!;
    learnt.push({ rows: ready, report: await t.learner.update(ready, { temperature, learningRate }) }); // version + 1
  }
  const updateSeconds = t.clock() - began;
  const { failure, ...published } = await handOver(t, { learnt: learnt.length > 0, collected }); // to whoever samples
  rollouts.done(step);
  const seen = await seenOf(t.watch, episodes, step); //                         hacks, audit, the team's own figures
  const more = { ...metrics, ...published.metrics, ...seen.metrics };
  const report = reportOf(t, { step, collected, learning, learnt, learningRate, updateSeconds, more });
  return {
    ...report,
    ...(seen.events.length > 0 && { events: seen.events }),
    ...(t.team?.stages.after(report.step, report.metrics) ? { stage: t.team.stages.state.index } : {}),
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
