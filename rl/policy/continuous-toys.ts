import { rng } from "../../core/rng.ts";
import type { Arr } from "../../engine/array.ts";
import type { Engine } from "../../engine/engine.ts";
import { type ContinuousOptions, ContinuousSampler } from "./continuous.ts";
import type { ContinuousParams, ContinuousRequest } from "./continuous-request.ts";
import { type ForwardCall, forwardCall } from "./forward-call.ts";
import { initLora, type LoraConfig } from "./lora.ts";
import type { Policy } from "./policy.ts";
import type { PolicyVersion } from "./policy-version.ts";
import { config, params, policy, tokenizer } from "./sampling-toys.ts";

export const lora: LoraConfig = {
  rank: 3,
  alpha: 6,
  rsLora: false,
  targetModules: ["q_proj", "v_proj", "down_proj"],
};

/** The toy policy with a random adapter of large effect on its frozen weights. */
export function adapted(seed: number, settings: LoraConfig = lora): Policy {
  const random = rng(seed, "b");
  const trainable = Object.fromEntries(
    Object.entries(initLora(config, settings, seed)).map(([name, arr]): [string, Arr] => [
      name,
      { ...arr, data: (arr.data as Float32Array).map(() => random() - 0.5) },
    ]),
  );
  return { ...policy, frozen: policy.trainable, trainable, lora: settings };
}

/** Versions of an engine: equal LoRA settings share a forward call. */
export function versions(engine: Engine): (of: Policy, name?: string) => PolicyVersion {
  const calls = new Map<string, ForwardCall>();
  return (of, name = "toy") => {
    const key = JSON.stringify(of.lora ?? null);
    const forward = calls.get(key) ?? forwardCall(engine, config, of.lora);
    calls.set(key, forward);
    return { name, weights: { ...of.frozen, ...of.trainable }, forward };
  };
}

export const continuous = (engine: Engine, change: Partial<ContinuousOptions> = {}) =>
  new ContinuousSampler({ engine, config, tokenizer, ...change });

export const ask = (
  prompt: readonly number[],
  change: Partial<ContinuousParams> = {},
  onToken?: ContinuousRequest["onToken"],
): ContinuousRequest => ({
  prompt,
  params: {
    ...params(),
    ...{ topLogprobs: 0, stopTokenIds: [], ignoreEos: false, minTokens: 0 },
    ...change,
  },
  onToken,
});
