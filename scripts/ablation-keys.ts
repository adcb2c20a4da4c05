import { createHash } from "node:crypto";
import type { Config } from "../configs/schema.ts";
import type { AblationPlan } from "./ablation-folder.ts";

/** Everything that the policy after the warm-up depends on: runs with one key start RL from one checkpoint. */
export function warmUpKey(config: Config): string {
  const { engine, model, data, search, env, rollout, sft, eval: e, reward } = config;
  return hash({
    ...{ seed: config.run.seed, engine, model, data, search, prompt: rollout.prompt, sft },
    // What becomes of verdicts matters to those who play, not to who shows how: the whole loop is shown.
    env: env.team === undefined ? env : { ...env, team: { ...env.team, feedback: undefined } },
    // A tiny model's words come from these questions, and the normaliser may drop some of a file's.
    benchmarks: e.benchmarks.map(({ source, limit }) => ({ source, limit })),
    normalizer: data.train.kind === "world" ? undefined : reward.normalizer,
  });
}

/**
 * Everything that an episode depends on, beside its question and its draws: scoring is no part of it. Of a run that is its
 * policy as RL begins; the policy of an evaluation is named by its weights among the draws.
 */
export function episodeKey(config: Config, what: AblationPlan["what"]): string {
  const { engine, model, data, search, env, rollout, endpoint } = config;
  return hash({
    ...{ seed: config.run.seed, engine, model, data, search, env, rollout, endpoint },
    warmUp: what === "train" ? warmUpKey(config) : undefined,
  });
}

const hash = (value: unknown) =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
