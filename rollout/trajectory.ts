import type { Task } from "../datasets/task.ts";
import type { Ending, Finish, PolicyOutcome } from "../env/environment.ts";

/**
 * Where tokens come from. Only `policy` tokens carry a loss.
 * `prompt` opens the sequence; `observation` comes from tools; `injected` is text the harness wrote (corrections).
 */
export type Source = "prompt" | "policy" | "observation" | "injected";

/** Tokens that a server counted. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export interface Segment {
  readonly source: Source;
  readonly tokens: readonly number[]; // [N]
  readonly text: string;
  /** Policy segments only, [N]: log-probability of each token when it was sampled. */
  readonly logprobs?: readonly number[];
  /** Policy segments only: the version that sampled it. */
  readonly version?: number;
  /** Policy segments only. */
  readonly finish?: Finish;
  /** Policy segments of a chat API, which gives no ids: what its server counted for this turn. */
  readonly usage?: TokenUsage;
}

/** One seat's tokens; concatenated segments are exactly what the model saw. */
export interface Sequence {
  readonly seat: string;
  /** Played by somebody else than the policy: never trained on. */
  readonly outside?: true;
  readonly segments: readonly Segment[];
}

/** `agent`: an agent of the user's own crashed. */
export type InfraKind = "model" | "retriever" | "scorer" | "timeout" | "agent";
export type Outcome = PolicyOutcome | `infra(${InfraKind})` | "cancelled";

/** The record of one episode. Immutable. */
export interface Trajectory {
  readonly task: Task;
  /** Place in its group, 0 … G−1. */
  readonly member: number;
  readonly sequences: readonly Sequence[];
  readonly outcome: Outcome;
  /** The environment's own account; absent when infrastructure failed first. */
  readonly ending?: Ending;
  /** Message of the failure, for infra outcomes. */
  readonly failure?: string;
  /** Sampling temperature of every policy token; 0 is greedy. */
  readonly temperature: number;
  readonly seconds: number;
  /** A demonstrator's, or read from a file: no policy sampled it, so it has no log-probabilities and RL refuses it. */
  readonly unsampled?: true;
}

/** G trajectories of one task: identity is declared here, never derived from text. */
export interface Group<T extends Trajectory = Trajectory> {
  readonly task: Task;
  readonly members: readonly T[]; // [G]
}

/** Was the end the policy's own doing? Only such episodes get a reward. */
export function isPolicyOutcome(outcome: Outcome): outcome is PolicyOutcome {
  return !outcome.startsWith("infra(") && outcome !== "cancelled";
}
