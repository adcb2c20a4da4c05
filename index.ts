/**
 * Forager's public names. Everything here is for users; nothing inside Forager imports this file.
 * Start with `defineForager` to add your own environment, reward, data set or sampler to the command line.
 */
export type { Complaint } from "./core/errors.ts";
export { CheckpointError, ConfigError, DataError, ForagerError, ToolError } from "./core/errors.ts";
export { rng } from "./core/rng.ts";
export type { Passage, Question, Task } from "./datasets/task.ts";
export type {
  Act,
  ActOptions,
  Ending,
  Environment,
  Finish,
  Observation,
  PolicyOutcome,
  SearchRecord,
  Seat,
} from "./env/environment.ts";
export type { Hit, Retriever } from "./env/search/retriever.ts";
export type { Scored, Scorer } from "./reward/scored.ts";
export type {
  BatchSampler,
  Completion,
  SampleRequest,
  Sampler,
  SamplingParams,
} from "./rollout/sampler.ts";
export type { Renderer, Tokenizer } from "./rollout/tokenizer.ts";
export type {
  Group,
  InfraKind,
  Outcome,
  Segment,
  Sequence,
  Source,
  Trajectory,
} from "./rollout/trajectory.ts";
export type { Forager } from "./scripts/define.ts";
export { defineForager } from "./scripts/define.ts";
export type { EnvironmentParts, Extensions, RewardPart } from "./scripts/extensions.ts";
