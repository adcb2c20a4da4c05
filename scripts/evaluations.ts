import { join } from "node:path";
import { type EvalResult, evaluate } from "../eval/evaluate.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import type { Output } from "./output.ts";
import type { PolicyPlayer } from "./policy-player.ts";
import type { Setup } from "./setup.ts";

/** Evaluates one policy on every benchmark of the config, in every mode; resumes what an earlier attempt recorded. */
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
  const { config, benchmarks, retriever, tokenizer, score } = setup;
  const { eval: e, env } = config;
  const results: EvalResult[] = [];
  o.player.publish(o.policy);
  const identity = {
    weights: weightsSha256(o.policy),
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
      results.push(
        await evaluate({
          benchmark: name,
          tasks,
          mode,
          samples: e.samples,
          decoding: { temperature: e.temperature, topP: e.topP, topK: e.topK },
          step: o.step,
          seed: e.seed,
          episodesAtOnce: config.rollout.maxRows,
          roll: o.player.evaluate,
          scorer: score,
          folder: join(o.folder, `${name}-${o.step}-${mode}`),
          identity,
          emAt: e.emAt,
          maxInfraShare: e.maxInfraShare,
          signal: o.signal,
          onProgress: (done) => {
            bar.tick(done - told);
            told = done;
          },
        }),
      );
      bar.done();
    }
  return results;
}
