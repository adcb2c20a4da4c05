/**
 * Forager's public names. Everything here is for users; nothing inside Forager imports this file.
 * Start with `defineForager` to add your own environment, reward, data set or policy to the command line.
 */
export type { Complaint } from "./core/errors.ts";
export { CheckpointError, ConfigError, DataError, ForagerError, ToolError } from "./core/errors.ts";
export type { Rng } from "./core/rng.ts";
export { rng } from "./core/rng.ts";
export type { LoadedTasks } from "./datasets/jsonl.ts";
export { readPassages, readTasks } from "./datasets/jsonl.ts";
export type { Passage, Question, Task } from "./datasets/task.ts";
export { questionOf } from "./datasets/task.ts";
export type { CheckOptions } from "./env/check.ts";
export { checkEnvironment } from "./env/check.ts";
export type { EnvConfig } from "./env/config.ts";
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
  SeatPrompt,
} from "./env/environment.ts";
export { researcher } from "./env/researcher.ts";
export { memoryRetriever } from "./env/search/memory.ts";
export type { Hit, Retriever } from "./env/search/retriever.ts";
export type { Step, Stepper } from "./env/stepper.ts";
export { stepper } from "./env/stepper.ts";
export type { Compression, Overrun, TeamAccount, TeamCall, VerdictKind } from "./env/team/account.ts";
export type { TeamConfig } from "./env/team/config.ts";
export type { TeamExpert, TeamHabits } from "./env/team/experts/expert.ts";
export type { Intent, Message, Payload, Violation } from "./env/team/message.ts";
export { readMessage, writeMessage } from "./env/team/message.ts";
export type { Role, RoleName } from "./env/team/roles.ts";
export { roles } from "./env/team/roles.ts";
export type { TeamOptions } from "./env/team/team.ts";
export { team } from "./env/team/team.ts";
export type { ScriptedSeat } from "./env/testing.ts";
export { scriptedSeat } from "./env/testing.ts";
export type { Interval } from "./eval/wilson.ts";
export { wilson } from "./eval/wilson.ts";
export { atStep, scoreAll, scoreGroups } from "./reward/score-all.ts";
export type { Scored, Scorer } from "./reward/scored.ts";
export { makeScorer } from "./reward/scorer.ts";
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
export type { Agent, AgentSaid, AgentTask } from "./serve/proxy/agent.ts";
