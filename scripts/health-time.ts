import { policyTokens, totalTokens } from "../rl/metrics.ts";
import { toRow } from "../rl/rows.ts";
import { rollGroups } from "../rollout/groups.ts";
import type { HealthCheck } from "./health.ts";
import { endpointOf, openFleet } from "./open-endpoint.ts";
import { type PolicyPlayer, policyPlayer } from "./policy-player.ts";
import { rlLearner } from "./reinforce.ts";
import type { Setup } from "./setup.ts";

const minutes = (seconds: number) =>
  seconds < 90
    ? `${seconds.toFixed(0)} s`
    : seconds < 5400
      ? `${(seconds / 60).toFixed(0)} min`
      : `${(seconds / 3600).toFixed(1)} h`;

/** The servers' base model, as it stands before the first adapter. */
async function basePlayer(setup: Setup, signal: AbortSignal): Promise<Pick<PolicyPlayer, "train" | "close">> {
  const { config, environment, tokenizer, renderer } = setup;
  const { rollout, run } = config;
  const { fleet, endpoint, model } = await openFleet(setup, endpointOf(config), { use: "evaluate", signal });
  const policy = endpoint.sampler({ model, version: 0 });
  return {
    train: (tasks, step, refill) =>
      rollGroups(tasks, {
        ...{ ...rollout, ...setup.episodes, environment, policy, tokenizer, renderer, signal },
        ...{ seed: run.seed, step, round: refill },
        decoding: { temperature: rollout.temperature, topP: rollout.topP, topK: rollout.topK },
      }),
    close: () => fleet.close(),
  };
}

/** Plays two groups of the first step and takes one update on them with weight 0, then multiplies. */
const time: HealthCheck = {
  name: "time",
  cheap: false,
  async run({ setup, signal }) {
    const { config, start } = setup;
    const { rl, rollout, benchmarks } = { ...config, benchmarks: setup.benchmarks };
    if (rl.steps === 0) return undefined;
    const player = config.endpoint ? await basePlayer(setup, signal) : policyPlayer(setup, start);
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
