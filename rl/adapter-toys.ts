/** A world for tests of several adapters: two seats that each answer with one of eight words. */
import type { Engine } from "../engine/engine.ts";
import type { Environment } from "../env/environment.ts";
import { toyTask } from "../reward/testing.ts";
import { rollGroups } from "../rollout/groups.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import { algorithmOf, rlConfig } from "./config.ts";
import { createLearner } from "./learner.ts";
import { createPolicySampler } from "./policy/adapter-sampler.ts";
import { withAdapters } from "./policy/adapters.ts";
import { tinyModel, tinySchema } from "./policy/config.ts";
import { initPolicy } from "./policy/init.ts";
import { initLora, type LoraConfig } from "./policy/lora.ts";
import type { Policy } from "./policy/policy.ts";
import type { RunState } from "./run-checkpoint.ts";
import { train } from "./step.ts";
import { createStages } from "./team-stages.ts";
import type { StepReport } from "./trainer.ts";

const words = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"];
export const tokenizer = tinyTokenizer({ special: ["<pad>", "<eos>"], words, syllables: [] });
const renderer = {
  prompt: (question: string) => tokenizer.encode(question),
  observation: (text: string) => text,
};
export const shape = tinyModel(
  tinySchema.parse({ layers: 1, hidden: 16, heads: 2, intermediate: 16, contextTokens: 24 }),
  { size: tokenizer.vocabSize, eosIds: tokenizer.eosIds, padId: tokenizer.padId },
);
export const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targetModules: ["q_proj", "up_proj"] };

/** Seat b is called twice, with a word of the harness in between. Right is a word said again by both. */
export const pair: Environment = {
  name: "pair",
  seats: ["a", "b"],
  async play(_question, { a, b }) {
    await a!.act({ stop: [], maxTokens: 1 });
    await b!.act({ stop: [], maxTokens: 1 });
    await b!.observe("ant");
    await b!.act({ stop: [], maxTokens: 1 });
    return { outcome: "answered", turns: 3, searches: [], invalidActions: 0, observationTokensCut: 0 };
  },
};

/** Every weight trains, or low-rank updates; by adapter names, one for all seats when there is one name. */
export function startOf(kind: "full" | "lora", adapters: readonly string[] = ["first", "second"]): Policy {
  const base = initPolicy(shape, 3);
  const policy: Policy =
    kind === "full" ? base : { ...base, frozen: base.trainable, trainable: initLora(shape, lora, 3), lora };
  return withAdapters(policy, adapters);
}

export const adapterOfSeat = (seat: string): string => (seat === "a" ? "first" : "second");

export interface ToyTeamRun {
  readonly reports: readonly StepReport[];
  readonly state: RunState;
}

/** Steps from where a state stands to `to`. */
export async function runTeam(
  engine: Engine,
  o: { from?: RunState; policy?: Policy; to: number; config?: object },
): Promise<ToyTeamRun> {
  const config = rlConfig.parse({
    ...{ steps: 20, filter: "none", slots: 256, schedule: { learningRate: 1e-2 } },
    ...o.config,
  });
  const policy = o.from?.policy ?? o.policy ?? startOf("full");
  const algorithm = algorithmOf(config);
  const learner = createLearner({
    ...{ engine, policy, optimizer: config.optimizer, slots: config.slots },
    loss: { ...algorithm, entropyCoefficient: 0 },
    ...(o.from && o.from.adam.step > 0 ? { state: o.from.adam } : {}),
  });
  const adapterOf = policy.adapters ? adapterOfSeat : () => undefined;
  const sampler = createPolicySampler({ engine, policy, tokenizer, maxRows: 64, adapterOf });
  const stages = createStages(config.team?.stages ?? [], o.from?.stage);
  const from = o.from?.step ?? 0;
  const reports: StepReport[] = [];
  const loop = train(
    {
      ...{ config, algorithm, seed: 5, tasksPerStep: 8, refillBatches: 0, learner },
      reference: policy.trainable,
      team: { adapterOf, stages },
      async publish(next) {
        sampler.update(next);
        return {};
      },
      source: {
        batch: () => words.map((word) => ({ ...toyTask, id: word, question: word, goldenAnswers: [word] })),
      },
      roll: (tasks, step) =>
        rollGroups(tasks, {
          ...{ environment: pair, policy: sampler, tokenizer, renderer, seed: 5, step },
          decoding: { temperature: 1, topP: 1, topK: 0 },
          ...{ groupSize: 8, maxRows: 64, concurrency: 1, retries: 0, retryDelayMs: 0, episodeTimeoutMs: 0 },
        }),
      score: (t) => {
        const said = t.sequences.map(
          ({ segments }) => segments.find(({ source }) => source === "policy")!.text,
        );
        const right = said.filter((word) => word === t.task.question).length / said.length;
        return { ...t, parts: { exactMatch: right }, reward: right };
      },
      kinds: (segment) => segment.tokens.map(() => "other" as const),
      clock: () => 0,
    },
    from,
    o.to,
  );
  for await (const report of loop) reports.push(report);
  sampler.dispose();
  const state: RunState = {
    ...{ phase: "rl", step: o.to, policy: learner.policy, adam: learner.optimizer, stage: stages.state },
  };
  return { reports, state };
}
