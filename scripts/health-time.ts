import { policyTokens, totalTokens } from "../rl/metrics.ts";
import { toRow } from "../rl/rows.ts";
import type { HealthCheck } from "./health.ts";
import { policyPlayer } from "./policy-player.ts";
import { rlLearner } from "./reinforce.ts";

const minutes = (seconds: number) =>
  seconds < 90
    ? `${seconds.toFixed(0)} s`
    : seconds < 5400
      ? `${(seconds / 60).toFixed(0)} min`
      : `${(seconds / 3600).toFixed(1)} h`;

/** Plays two groups of the first step and takes one update on them with weight 0, then multiplies. */
const time: HealthCheck = {
  name: "time",
  cheap: false,
  async run({ setup, signal }) {
    const { config, start } = setup;
    const { rl, rollout, benchmarks } = { ...config, benchmarks: setup.benchmarks };
    if (config.endpoint || rl.steps === 0) return undefined;
    const player = policyPlayer(setup, start);
    try {
      const tasks = setup.source.batch(0, Math.min(2, rollout.tasksPerStep), 0);
      await player.train(tasks, 0, 0); // compiles
      const began = performance.now();
      const { groups } = await player.train(tasks, 0, 1);
      const rolled = (performance.now() - began) / 1e3;
      signal.throwIfAborted();
      const members = groups.flatMap((group) => group.members);
      if (members.length === 0)
        return { verdict: "fail", evidence: "no episode came to an end", next: "See the checks above." };
      const learner = rlLearner(setup, {
        phase: "rl",
        step: 0,
        policy: start,
        adam: { step: 0, mu: {}, nu: {} },
      });
      const rows = members.flatMap((m) =>
        m.sequences.map((sequence) => {
          const row = toRow(sequence, { advantage: 0, temperature: rollout.temperature });
          return { ...row, weights: row.mask.map(() => 0) };
        }),
      );
      const update = () => learner.update(rows, { temperature: rollout.temperature, learningRate: 0 });
      await update(); // compiles
      const learning = performance.now();
      await update();
      const updated = (performance.now() - learning) / 1e3;
      const mean = (f: (m: (typeof members)[number]) => number) =>
        members.reduce((sum, m) => sum + f(m), 0) / members.length;
      const episodes = rollout.tasksPerStep * rollout.groupSize;
      const step = ((rolled + updated) / members.length) * episodes;
      const evaluation =
        benchmarks.reduce((n, { tasks: all }) => n + all.length, 0) * (rolled / members.length);
      const tokens = mean(totalTokens) * episodes;
      return {
        verdict: "ok",
        evidence: `about ${minutes(step)} and ${Math.round(tokens)} tokens (${Math.round(mean(policyTokens) * episodes)} sampled) a step of ${episodes} episodes, ${minutes(step * rl.steps)} for ${rl.steps} steps, ${minutes(evaluation)} an evaluation; larger batches do better, refills and the warm-up come on top`,
      };
    } finally {
      await player.close();
    }
  },
};

export const timeChecks: readonly HealthCheck[] = [time];
