import { rng } from "../core/rng.ts";
import type { Task } from "../datasets/task.ts";
import { advantages } from "./advantage.ts";
import { weigh } from "./aggregation.ts";
import { collect } from "./collect.ts";
import { policyTokens } from "./metrics.ts";
import { reportOf } from "./report.ts";
import { toRow } from "./rows.ts";
import { learningRateAt } from "./schedule.ts";
import type { Learnt, StepReport, Trainer } from "./trainer.ts";

/** One step of on-policy RL, top to bottom. `step` counts from 0. */
export async function trainStep(t: Trainer, step: number): Promise<StepReport> {
  const batch = (size: number, attempt: number) => t.source.batch(step, size, attempt); //                   tasks [P]
  const roll = (tasks: readonly Task[], attempt: number) => t.roll(tasks, step, attempt); //                 [P][G] trajectories
  const collected = await collect({ ...t, batch, roll }); //                                                 [P][G] scored, filtered
  const learning = collected.kept.map(({ group }) => ({
    group,
    advantages: advantages[t.algorithm.advantage](group.members.map((m) => m.reward)), //                   [G]
  }));

  const began = t.clock();
  const sampled = collected.sampled.flatMap((j) => j.group.members).reduce((n, m) => n + policyTokens(m), 0);
  const denominators = {
    sampledTokens: sampled / t.config.updatesPerStep,
    maxTokens: t.config.constantTokens,
  };
  const learningRate = learningRateAt(step, t.config.steps, t.config.schedule);
  const learnt: Learnt[] = [];
  const order = rng(t.seed, "minibatch", step).shuffle(learning);
  for (let update = 0; update < t.config.updatesPerStep; update++) {
    const share = order.filter((_, i) => i % t.config.updatesPerStep === update);
    const members = share.flatMap(({ group, advantages: a }) =>
      group.members.map((m, i) => ({ m, advantage: a[i]! })),
    );
    const rows = members.flatMap(({ m, advantage }) =>
      m.sequences.map((s) =>
        toRow(s, {
          advantage,
          temperature: m.temperature,
          kinds: t.kinds,
          masked: t.config.overlong === "mask" && m.outcome === "length",
        }),
      ),
    ); //                                                                                                   [B][T]
    const weighted = weigh(rows, t.algorithm.aggregation, denominators);
    if (weighted.length === 0) continue;
    const temperature = weighted[0]!.temperature;
    const reference =
      t.algorithm.kl === "none" ? undefined : await t.learner.logprobs(weighted, temperature, t.reference);
    const ready = weighted.map((row, i) => (reference ? { ...row, reference: reference[i]! } : row));
    learnt.push({ rows: ready, report: await t.learner.update(ready, { temperature, learningRate }) }); //  loss, gradient, step
  }
  if (learnt.length > 0) t.publish(t.learner.policy); //                                                    version + 1
  return reportOf(t, { step, collected, learning, learnt, learningRate, updateSeconds: t.clock() - began });
}

/** The whole run. The caller decides what to log, when to evaluate and when to save. */
export async function* train(t: Trainer, from: number, to: number): AsyncGenerator<StepReport> {
  for (let step = from; step < to; step++) yield await trainStep(t, step);
}
