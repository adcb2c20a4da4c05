import { availableParallelism, freemem, totalmem } from "node:os";
import { firstView } from "../rl/policy/adapters.ts";
import { paramsBytes, paramsCount, trainingBytes } from "../rl/policy/footprint.ts";
import { createSampler, type PolicySampler } from "../rl/policy/generate.ts";
import { toRow } from "../rl/rows.ts";
import { withoutEnd } from "../rollout/ledger.ts";
import type { SamplingParams } from "../rollout/sampler.ts";
import { firstPrompt } from "./first-prompt.ts";
import type { HealthCheck, Patient } from "./health.ts";
import { gigabytes } from "./health-data.ts";
import { rlLearner } from "./reinforce.ts";

const plain: SamplingParams = { temperature: 1, topP: 1, topK: 0, maxTokens: 24, stop: [], seed: 1 };

const millions = (n: number) => `${(n / 1e6).toFixed(n < 1e7 ? 2 : 0)}M`;

/** What the machine has, what this config needs, and what else it could train. */
const memory: HealthCheck = {
  name: "memory",
  cheap: true,
  async run({ setup: { config, start } }) {
    const { frozen, trainable, config: model } = start;
    const { rl, sft, rollout } = config;
    const needed = trainingBytes({
      config: model,
      frozenBytes: paramsBytes(frozen),
      trainableBytes: paramsBytes(trainable),
      slots: Math.max(rl.slots, sft.steps > 0 ? sft.slots : 0),
      rows: config.endpoint ? 0 : rollout.maxRows,
      contextTokens: model.contextTokens,
    });
    const count = paramsCount(frozen) + paramsCount(trainable);
    // Most of what training needs grows with the model; the rest is the same for any.
    const largest = (count * 0.8 * totalmem()) / needed;
    const evidence = `about ${gigabytes(needed)} for ${millions(count)} parameters (${millions(paramsCount(trainable))} learn), ${gigabytes(freemem())} of ${gigabytes(totalmem())} free, ${availableParallelism()} cores; with these settings this machine trains up to about ${millions(largest)}`;
    if (needed <= 0.8 * totalmem()) return { verdict: "ok", evidence };
    return {
      verdict: needed <= totalmem() ? "warn" : "fail",
      evidence,
      next: "Lower rl.slots, sft.slots, rollout.maxRows or model.contextTokens, or take a smaller model.",
    };
  },
};

/** In process: draws differ between seeds and repeat with one; a stop string stops. */
const sampling: HealthCheck = {
  name: "sampling",
  cheap: false,
  run: (patient) =>
    withSampler(patient, async (sampler, prompt) => {
      const { tokenizer } = patient.setup;
      const draw = async (seed: number, name: string, stop: readonly string[] = []) =>
        (
          await sampler.sampleBatch(
            [{ sequence: name, prompt, params: { ...plain, seed, stop } }],
            patient.signal,
          )
        )[0]!;
      const one = await draw(1, "one");
      const again = await draw(1, "again");
      const others = await Promise.all([2, 3, 4, 5].map((seed) => draw(seed, `seed ${seed}`)));
      if (one.tokens.join() !== again.tokens.join())
        return {
          verdict: "fail",
          evidence: "the same seed gave other tokens",
          next: "This is a bug: report it.",
        };
      const distinct = new Set([one, ...others].map(({ tokens }) => tokens.join())).size;
      const evidence = `${distinct} different texts from 5 seeds at temperature 1, the same from the same seed`;
      if (distinct === 1)
        return {
          verdict: "warn",
          evidence,
          next: "The policy is certain of its first words; if groups have no spread, it has collapsed or memorised.",
        };
      const words = tokenizer.decode(withoutEnd(one.tokens, tokenizer).slice(0, 3));
      const stopped = words === "" ? one : await draw(1, "stop", [words]);
      return words !== "" && !(stopped.finish === "stop" && stopped.text.endsWith(words))
        ? {
            verdict: "fail",
            evidence: `the stop string ${JSON.stringify(words)} did not stop`,
            next: "This is a bug: report it.",
          }
        : { verdict: "ok", evidence: `${evidence}; a stop string stops` };
    }),
};

/** The sampler's recorded log-probabilities against those that the trainer computes for the same tokens. */
const logprobs: HealthCheck = {
  name: "logprobs",
  cheap: false,
  run: (patient) =>
    withSampler(patient, async (sampler, prompt) => {
      const { setup, signal } = patient;
      const { temperature } = setup.config.rollout;
      const params = { ...plain, temperature };
      const [drawn] = await sampler.sampleBatch([{ sequence: "logprobs", prompt, params }], signal);
      const { tokens, logprobs: recorded, text, finish } = drawn!;
      const learner = rlLearner(setup, {
        phase: "rl",
        step: 0,
        policy: firstView(setup.start),
        adam: { step: 0, mu: {}, nu: {} },
      });
      const row = toRow(
        {
          seat: "doctor",
          segments: [
            { source: "prompt", tokens: prompt, text: "" },
            { source: "policy", tokens, text, finish, version: 0, logprobs: recorded },
          ],
        },
        { advantage: 0, temperature },
      );
      const weights = row.mask.map(Number);
      const [own] = await learner.logprobs([{ ...row, weights }], temperature);
      const gaps = recorded.map((logprob, i) => Math.abs(logprob - own![prompt.length + i]!));
      const evidence = `sampler and trainer differ by ${Math.max(...gaps).toExponential(1)} at most over ${tokens.length} tokens at temperature ${temperature}`;
      return Math.max(...gaps) < 1e-3
        ? { verdict: "ok", evidence }
        : { verdict: "fail", evidence, next: "Such ratios cannot be trained on. This is a bug: report it." };
    }),
};

/** A sampler of the start policy and the first question's prompt; nothing with an endpoint, which has its own checks. */
async function withSampler<T>(
  { setup }: Patient,
  work: (sampler: PolicySampler, prompt: readonly number[]) => Promise<T>,
): Promise<T | undefined> {
  if (setup.config.endpoint) return undefined;
  const { engine, start, tokenizer } = setup;
  const sampler = createSampler({ engine, policy: firstView(start), tokenizer, maxRows: 8 });
  try {
    return await work(sampler, firstPrompt(setup));
  } finally {
    sampler.dispose();
  }
}

export const policyChecks: readonly HealthCheck[] = [memory, sampling, logprobs];
