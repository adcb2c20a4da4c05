import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageRoot } from "../../core/package-root.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import { rewardConfig } from "../../reward/config.ts";
import { posted } from "../../reward/posted.ts";
import { makeScorer } from "../../reward/scorer.ts";
import { advantagesOf } from "../../rl/advantage.ts";
import { weigh } from "../../rl/aggregation.ts";
import { algorithmOf, rlConfig } from "../../rl/config.ts";
import { createLearner } from "../../rl/learner.ts";
import { tinyModel, tinySchema } from "../../rl/policy/config.ts";
import { createSampler } from "../../rl/policy/generate.ts";
import { initPolicy } from "../../rl/policy/init.ts";
import { weightsSha256 } from "../../rl/policy/weights-hash.ts";
import { toRow } from "../../rl/rows.ts";
import { plainChat } from "../../rollout/chat.ts";
import { rollGroups } from "../../rollout/groups.ts";
import type { BatchSampler, Completion, SampleRequest } from "../../rollout/sampler.ts";
import { tinyTokenizer } from "../../rollout/tiny-tokenizer.ts";
import type { Agent } from "./agent.ts";
import { agentPlayer } from "./agent-episode.ts";
import { type RecordingProxy, startProxy } from "./proxy.ts";

const special = ["<pad>", "<eos>", "<search>", "</search>"];
const words = ["who", "built", "the", "mill", "bridge", "was", "by", "renn", "oke", "nothing", "found"];
const tokenizer = tinyTokenizer({ special, words, syllables: [] });
const renderer = {
  prompt: (question: string) => tokenizer.encode(question),
  observation: (text: string) => text,
};
const tasks = [
  { id: "mill", question: "who built the mill", goldenAnswers: ["renn"], dataset: "toy", hops: 1 },
  { id: "bridge", question: "who built the bridge", goldenAnswers: ["oke"], dataset: "toy", hops: 1 },
];

let engine: Engine;
let proxy: RecordingProxy;
let agent: Agent;
let run: Awaited<ReturnType<typeof trained>>;
beforeAll(async () => {
  engine = await openEngine({});
  proxy = await startProxy();
  ({ agent } = (await import(fileURLToPath(new URL(`file://${packageRoot()}/docs/own-agent/agent.mjs`)))) as {
    agent: Agent;
  });
  run = await trained(8);
});
afterAll(async () => {
  await proxy.close();
  await engine.dispose();
});

/** Steps of training through the proxy, with all that was sampled and all rows that were trained on. */
async function trained(steps: number) {
  const config = rlConfig.parse({ steps, schedule: { learningRate: 1e-2 }, slots: 2048 });
  const algorithm = algorithmOf(config);
  const tiny = tinySchema.parse({ layers: 1, hidden: 16, heads: 2, intermediate: 16, contextTokens: 64 });
  const { vocabSize: size, eosIds, padId } = tokenizer;
  const learner = createLearner({
    engine,
    policy: initPolicy(tinyModel(tiny, { size, eosIds, padId }), 3),
    loss: { ...algorithm, entropyCoefficient: 0 },
    optimizer: config.optimizer,
    slots: config.slots,
  });
  const inner = createSampler({ engine, policy: learner.policy, tokenizer, maxRows: 64 });
  const sampled: { request: SampleRequest; completion: Completion }[] = [];
  const policy: BatchSampler = {
    ...inner,
    async sampleBatch(requests, signal) {
      const completions = await inner.sampleBatch(requests, signal);
      completions.forEach((completion, i) => {
        sampled.push({ request: requests[i]!, completion });
      });
      return completions;
    },
  };
  const score = makeScorer(
    rewardConfig.parse({ weights: { coverMatch: 1, posted: 0 }, combination: "sum", maxDivisor: 1 }),
    { posted },
  );
  const untouched = weightsSha256(learner.policy);
  const rolls = [];
  for (let step = 0; step < steps; step++) {
    const { groups, tooFew, leftOut } = await rollGroups(tasks, {
      play: agentPlayer({ proxy, agent, chat: plainChat }),
      environment: { name: "agent", seats: [], play: () => Promise.reject(new Error("an agent plays")) },
      ...{ policy, tokenizer, renderer, decoding: { temperature: 1, topP: 1, topK: 0 }, seed: 5, step },
      ...{ groupSize: 8, maxRows: 64, concurrency: 1, retries: 0, retryDelayMs: 0, episodeTimeoutMs: 10_000 },
    });
    const scored = groups.map(({ members }) => members.map(score));
    const rows = scored.flatMap((members) => {
      const gains = advantagesOf(algorithm.advantage, members);
      return members.flatMap(({ sequences }, i) =>
        sequences.map((sequence) => toRow(sequence, { advantage: gains[i]!, temperature: 1 })),
      );
    });
    const weighted = weigh(rows, algorithm.aggregation, { sampledTokens: 1000, constantTokens: 64 });
    await learner.update(weighted, { temperature: 1, learningRate: 1e-2 });
    inner.update(learner.policy);
    rolls.push({ members: scored.flat(), rows, failed: [...tooFew, ...leftOut] });
  }
  inner.dispose();
  return { rolls, sampled, untouched, weights: weightsSha256(learner.policy) };
}

test("an agent of a dozen lines trains a policy: rows hold what was sampled, id for id, and learn on that alone", () => {
  const { rolls, sampled, untouched, weights } = run;
  expect(weights).not.toBe(untouched);
  expect(rolls.flatMap(({ failed }) => failed)).toEqual([]);
  // Every completion is one policy segment, behind exactly the prompt it was asked for.
  const line = (
    prompt: readonly number[],
    tokens: readonly number[],
    logprobs: readonly number[],
    version: number,
  ) => JSON.stringify([prompt, tokens, logprobs, version]);
  const recorded = rolls.flatMap(({ members }) =>
    members.flatMap(({ sequences }) =>
      sequences.flatMap(({ segments }) =>
        segments.flatMap(({ source, tokens, logprobs, version }, i) => {
          const before = segments.slice(0, i).flatMap((segment) => segment.tokens);
          return source === "policy" ? [line(before, tokens, logprobs!, version!)] : [];
        }),
      ),
    ),
  );
  const asked = sampled.map(({ request, completion: { tokens, logprobs, version } }) =>
    line(request.prompt, tokens, logprobs, version),
  );
  expect(recorded.sort()).toEqual(asked.sort());
  expect(new Set(sampled.map(({ completion }) => completion.version))).toEqual(new Set(rolls.keys()));
  // The loss mask covers the sampled tokens and nothing else.
  const trainedOn = rolls.flatMap(({ rows }) =>
    rows.flatMap(({ tokens, mask }) => tokens.filter((_, t) => mask[t])),
  );
  const sampledIds = sampled.flatMap(({ completion }) => completion.tokens);
  const counted = (ids: readonly number[]) => [...ids].sort((a, b) => a - b);
  expect(counted(trainedOn)).toEqual(counted(sampledIds));
  // Searches happened by luck, and a conversation with one is one sequence with the page in it as an observation.
  const searching = rolls
    .flatMap(({ members }) => members)
    .filter(({ sequences }) => sequences[0]!.segments.length > 2);
  expect(searching.length).toBeGreaterThan(0);
  for (const { sequences, ending } of searching) {
    expect(sequences).toHaveLength(1);
    expect(sequences[0]!.segments[2]).toMatchObject({ source: "observation" });
    expect(ending!.turns).toBe(sequences[0]!.segments.filter(({ source }) => source === "policy").length);
  }
});

test("it learns", () => {
  const mean = (of: typeof run.rolls) => {
    const rewards = of.flatMap(({ members }) => members.map(({ reward }) => reward));
    return rewards.reduce((a, b) => a + b, 0) / rewards.length;
  };
  expect(mean(run.rolls.slice(-3))).toBeGreaterThan(mean(run.rolls.slice(0, 3)));
});

test("the same seed gives the same episodes, through HTTP and after an update", async () => {
  const texts = ({ rolls }: typeof run) =>
    rolls
      .slice(0, 2)
      .map(({ members }) => members.map(({ sequences, outcome, reward }) => [sequences, outcome, reward]));
  expect(texts(await trained(2))).toEqual(texts(run));
});
