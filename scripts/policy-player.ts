import type { Config } from "../configs/schema.ts";
import type { Task } from "../datasets/task.ts";
import type { RollRequest } from "../eval/evaluate.ts";
import { checkSampled } from "../rl/diverged.ts";
import { createPolicySampler } from "../rl/policy/adapter-sampler.ts";
import type { Policy } from "../rl/policy/policy.ts";
import type { Remote, RollUse } from "../rl/remote.ts";
import { type Rolled, rollGroups } from "../rollout/groups.ts";
import { temperatureAt } from "../rollout/temperature.ts";
import type { Setup, SharedBatch } from "./setup.ts";
import { seatAdapters } from "./team-adapters.ts";

/** The policy at the seat: plays groups for training and for evaluation. */
export interface PolicyPlayer {
  /** Where the policy samples on servers; absent in process. */
  readonly remote?: Remote;
  /** From here on this version plays. Resolves with what publishing measured. */
  publish(policy: Policy): Promise<Readonly<Record<string, number>>>;
  train(tasks: readonly Task[], step: number, refill: number, use?: RollUse): Promise<Rolled>;
  evaluate(tasks: readonly Task[], request: RollRequest): Promise<Rolled>;
  close(): Promise<void>;
}

/** How a training step samples. */
export const decodingOf = ({ rollout, rl }: Config, step: number) => ({
  temperature: temperatureAt(rollout, step, rl.steps),
  ...{ topP: rollout.topP, topK: rollout.topK },
});

/** What tells the episodes of a training step's batch from those of another, for runs that share them. */
export const drawsOf = (config: Config, step: number, refill: number) => ({
  ...{ step, refill },
  ...(config.rollout.finalTemperature === undefined ? {} : decodingOf(config, step)),
});

/** Of the policy as RL begins, which several runs may have in common, episodes are shared where the setup says so. */
export function firstShared(
  { share }: Setup,
  version: number,
  batch: SharedBatch,
  play: () => Promise<Rolled>,
): Promise<Rolled> {
  return version === 0 && share !== undefined ? share(batch, play) : play();
}

/** The in-process policy. */
export function policyPlayer(setup: Setup, policy: Policy): PolicyPlayer {
  const { config, engine, tokenizer, renderer, environment } = setup;
  const { rollout } = config;
  const { maxRows } = rollout;
  const sampler = createPolicySampler({
    ...{ engine, policy, tokenizer, maxRows },
    adapterOf: seatAdapters(config),
  });
  const common = { ...rollout, ...setup.episodes, environment, policy: sampler, tokenizer, renderer };
  let { version } = policy;
  return {
    async publish(next) {
      sampler.update(next);
      ({ version } = next);
      return {};
    },
    async train(tasks, step, refill, use) {
      const rolled = await firstShared(setup, version, { tasks, draws: drawsOf(config, step, refill) }, () =>
        rollGroups(tasks, {
          ...common,
          ...(use && { signal: use.signal, cut: use.cut }),
          seed: config.run.seed,
          step,
          round: refill,
          decoding: decodingOf(config, step),
        }),
      );
      return checkSampled(rolled);
    },
    async evaluate(tasks, request) {
      const { signal: _signal, onEpisode: _onEpisode, ...draws } = request;
      const play = () => rollGroups(tasks, { ...common, ...request });
      return checkSampled(await firstShared(setup, version, { tasks, draws }, play));
    },
    async close() {
      sampler.dispose();
    },
  };
}
