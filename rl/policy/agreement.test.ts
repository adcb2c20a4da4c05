import { afterAll, beforeAll, expect, test } from "vitest";
import { rng } from "../../core/rng.ts";
import type { Params } from "../../engine/array.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import { loadTokenizer } from "../../rollout/hf-tokenizer.ts";
import type { SampleRequest } from "../../rollout/sampler.ts";
import { createLearner } from "../learner.ts";
import { loadPolicy } from "./checkpoint.ts";
import { createSampler } from "./generate.ts";
import type { LoraConfig } from "./lora.ts";
import { PROJECTION_NAMES } from "./model-config.ts";
import type { Policy } from "./policy.ts";

const folder = process.env.FORAGER_SMOLLM2 ?? "";
const title = "opt-in: FORAGER_SMOLLM2 is a folder of SmolLM2-135M-Instruct";

const system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
const questions = [
  "What is the capital of France?",
  "Write a short poem about rain.",
  "Explain gravity to a child.",
  "List five uses of a brick.",
  "Who wrote Hamlet, and when?",
  "Describe the taste of an apple.",
  "How do I boil an egg?",
  "Tell me a story about a fox.",
];
const lora: LoraConfig = { rank: 16, alpha: 32, rsLora: false, targetModules: PROJECTION_NAMES };
const settings = { surrogate: "ppoClip", kl: "none", klCoefficient: 0, clipLow: 0.2, clipHigh: 0.2 } as const;
const optimizer = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 1 };

let engine: Engine;
beforeAll(async () => {
  if (folder) engine = await openEngine({ threads: 2 });
});
afterAll(() => engine?.dispose());

/** The model as it is, or under an adapter whose B is not zero. */
function policyOf(adapted: boolean): Policy {
  if (!adapted) return loadPolicy(folder, { training: "full", seed: 1 });
  const fresh = loadPolicy(folder, { training: lora, seed: 1 });
  const random = rng(5, "b");
  const trainable: Params = Object.fromEntries(
    Object.entries(fresh.trainable).map(([name, arr]) => {
      const data = name.endsWith("lora_B.weight") ? new Float32Array(arr.data.length) : undefined;
      return [name, data ? { ...arr, data: data.map(() => (random() - 0.5) / 50) } : arr];
    }),
  );
  return { ...fresh, trainable };
}

// Two turns of 8 conversations; the second extends the first by an observation, as an episode does.
test.skipIf(!folder).each([false, true])(
  `what the sampler records the trainer computes again, LoRA: %s (${title})`,
  { timeout: 600_000 },
  async (adapted) => {
    const policy = policyOf(adapted);
    const tokenizer = loadTokenizer(folder);
    const learner = createLearner({
      ...{ engine, policy, optimizer, slots: 2048 },
      loss: { ...settings, entropyCoefficient: 0 },
    });
    for (const temperature of [0, 0.7, 1, 1.3]) {
      const sampler = createSampler({ engine, policy, tokenizer, contextTokens: 1024 });
      const gaps: number[] = [];
      let prompts = questions.map((question) =>
        tokenizer.encode(
          `<|im_start|>system\n${system}<|im_end|>\n<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`,
        ),
      );
      for (let turn = 0; turn < 2; turn++) {
        const requests = prompts.map(
          (prompt, i): SampleRequest => ({
            ...{ sequence: `s${i}`, prompt },
            params: { temperature, topP: 1, topK: 0, maxTokens: 60, stop: [], seed: 10 * turn + i },
          }),
        );
        const done = await sampler.sampleBatch(requests);
        const rows = done.map(({ tokens, logprobs }, i) => {
          const before = (prompts[i] as number[]).map(() => 0);
          return {
            tokens: [...(prompts[i] as number[]), ...tokens],
            mask: [...before, ...tokens.map(() => 1)],
            weights: [...before, ...tokens.map(() => 1)],
            oldLogprobs: [...before, ...logprobs],
            advantages: [...before, ...tokens.map(() => 0)],
            temperature: temperature || 1,
          };
        });
        const again = await learner.logprobs(rows, temperature || 1);
        rows.forEach(({ mask, oldLogprobs }, r) => {
          for (const [t, counts] of mask.entries())
            if (counts) gaps.push(Math.abs((oldLogprobs[t] as number) - (again[r]?.[t] as number)));
        });
        const observation = tokenizer.encode(
          "<|im_end|>\n<|im_start|>user\nSay more, and give an example.<|im_end|>\n<|im_start|>assistant\n",
        );
        prompts = rows.map(({ tokens }) => [...tokens, ...observation]);
      }
      const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
      const most = Math.max(...gaps);
      console.info(
        `LoRA ${adapted}, T ${temperature}: ${gaps.length} tokens, max ${most.toExponential(1)}, mean ${mean.toExponential(1)}`,
      );
      expect(gaps.length).toBeGreaterThanOrEqual(600);
      expect(most).toBeLessThan(1e-5);
    }
  },
);
