import { type EvalResult, evaluate, type Roll } from "../eval/evaluate.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import { evalFolder } from "../track/run-folder.ts";
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
  o.player.publish(o.policy);
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
  const identity = {
    weights: o.weights,
    retriever: retriever.version,
    tokenizer: tokenizer.fingerprint,
    normalizer: config.reward.normalizer,
    maxTurns: env.maxTurns,
    topK: env.topK,
  };
  for (const { name, tasks } of benchmarks)
    for (const mode of e.modes) {
      const bar = o.output.progress(`${name}, ${mode}`, tasks.length * (mode === "greedy" ? 1 : e.samples));
      let told = 0;
      const result = await evaluate({
        benchmark: name,
        tasks,
        mode,
        samples: e.samples,
        decoding: { temperature: e.temperature, topP: e.topP, topK: e.topK },
        step: o.step,
        seed: e.seed,
        episodesAtOnce: config.rollout.maxRows,
        roll: o.roll,
        scorer: score,
        folder: evalFolder(o.folder, name, o.step, mode),
        identity,
        emAt: e.emAt,
        maxInfraShare: e.maxInfraShare,
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
