import type { OwnDatasets } from "../datasets/own.ts";
import type { Environment } from "../env/environment.ts";
import type { ResearcherOptions } from "../env/researcher.ts";
import type { OwnPart } from "../reward/scorer.ts";
import type { BatchSampler, Sampler } from "../rollout/sampler.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";
import type { Agent } from "../serve/proxy/agent.ts";

/** What an environment is built from: the retriever of `search`, the section `env`, the run's seed. */
export type EnvironmentParts = ResearcherOptions;

/** One named part of a reward: a pure number from a trajectory, whose task carries the gold answers. */
export type RewardPart = OwnPart;

/** Names a user adds to Forager's own, usable from YAML. A name of ours cannot be taken. */
export interface Extensions {
  /** `env.name: NAME`. */
  readonly environments?: Readonly<Record<string, (parts: EnvironmentParts) => Environment>>;
  /** `env: { name: agent, agent: NAME }`: an agent that plays its episodes by itself, with an OpenAI client. */
  readonly agents?: Readonly<Record<string, Agent>>;
  /** `reward.weights: { NAME: 0.5 }`. */
  readonly rewards?: Readonly<Record<string, RewardPart>>;
  /** `data.train: { kind: own, name: NAME }`, and as a benchmark's source. */
  readonly datasets?: OwnDatasets;
  /** `--policy NAME` of eval, rollout: a policy of another make in place of ours. */
  readonly samplers?: Readonly<
    Record<string, (parts: { tokenizer: Tokenizer }) => Promise<Sampler | BatchSampler>>
  >;
}
