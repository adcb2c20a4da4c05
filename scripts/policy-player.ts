import type { Task } from "../datasets/task.ts";
import type { RollRequest } from "../eval/evaluate.ts";
import { createSampler, type PolicySampler } from "../rl/policy/generate.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { type Rolled, rollGroups } from "../rollout/groups.ts";
import type { Setup } from "./setup.ts";

/** The in-process policy at the seat: plays groups for training and for evaluation. */
export interface PolicyPlayer {
  readonly sampler: PolicySampler;
  publish(policy: Policy): void;
  train(tasks: readonly Task[], step: number, attempt: number): Promise<Rolled>;
  evaluate(tasks: readonly Task[], request: RollRequest): Promise<Rolled>;
}

export function policyPlayer(setup: Setup, policy: Policy): PolicyPlayer {
  const { config, engine, tokenizer, renderer, environment } = setup;
  const { rollout } = config;
  const sampler = createSampler({ engine, policy, tokenizer, maxRows: rollout.maxRows });
  const common = { ...rollout, environment, policy: sampler, tokenizer, renderer };
  return {
    sampler,
    publish: (next) => sampler.update(next),
    train: (tasks, step, attempt) =>
      rollGroups(tasks, {
        ...common,
        seed: config.run.seed,
        step,
        round: attempt,
        decoding: { temperature: rollout.temperature, topP: rollout.topP, topK: rollout.topK },
      }),
    evaluate: (tasks, request) => rollGroups(tasks, { ...common, ...request }),
  };
}
