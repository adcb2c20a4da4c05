import { type EvalResult, evaluate, type Roll } from "../eval/evaluate.ts";
import { normalizerOf } from "../reward/normalize.ts";
import { atStep } from "../reward/score-all.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import { evalFolder } from "../track/run-folder.ts";
import { checkIndexPin } from "./benchmark-card.ts";
import type { Output } from "./output.ts";
import type { PolicyPlayer } from "./policy-player.ts";
import type { Setup } from "./setup.ts";

/** Evaluates one version of the policy in training on every benchmark of the config. */
export async function evaluateAll(
  setup: Setup,
  o: {
    player: PolicyPlayer;
    policy: Policy;
    step: number;
    folder: string;
    output: Output;
    signal: AbortSignal;
  },
): Promise<EvalResult[]> {
  await o.player.publish(o.policy);
  return evaluateWith(setup, { ...o, roll: o.player.evaluate, weights: weightsSha256(o.policy) });
}

/**
 * Evaluates whatever `roll` plays on every benchmark of the config, in every mode; resumes what an earlier attempt
 * recorded under the same identity.
 */
export async function evaluateWith(
  setup: Setup,
  o: {
    roll: Roll;
    /** Names the policy's weights. */
    weights: string;
    step: number;
    folder: string;
    output: Output;
    signal: AbortSignal;
    onResult?: (result: EvalResult) => void;
  },
): Promise<EvalResult[]> {
  const { config, benchmarks, retriever, tokenizer, score } = setup;
  const { eval: e, env } = config;
  const results: EvalResult[] = [];
  const normalizer = normalizerOf(config.reward.normalizer);
  const identity = {
    weights: o.weights,
    retriever: retriever.version,
    tokenizer: tokenizer.fingerprint,
    normalizer: normalizer.id,
    normalizerVersion: normalizer.version,
    extraction: config.reward.extraction,
    maxTurns: env.maxTurns,
    passages: env.topK,
    ...score.identity,
  };
  for (const { name } of benchmarks) checkIndexPin(config, name, retriever.version);
  for (const { name, tasks, card } of benchmarks)
    for (const mode of e.modes) {
      const { samples, seed, ...decoding } = card;
      const bar = o.output.progress(`${name}, ${mode}`, tasks.length * (mode === "greedy" ? 1 : samples));
      let told = 0;
      const result = await evaluate({
        benchmark: name,
        tasks,
        mode,
        samples,
        decoding,
        step: o.step,
        seed,
        episodesAtOnce: config.rollout.maxRows,
        roll: o.roll,
        scorer: atStep(score, o.step),
        folder: evalFolder(o.folder, name, o.step, mode),
        identity,
        normalizer,
        emAt: e.emAt,
        maxInfraShare: e.maxInfraShare,
        prices: e.prices,
        signal: o.signal,
        onProgress: (done) => {
          bar.tick(done - told);
          told = done;
        },
      });
      bar.done();
      results.push(result);
      o.onResult?.(result);
    }
  return results;
}
