import type { TaskSource } from "../datasets/batch.ts";
import type { Task } from "../datasets/task.ts";
import type { Params } from "../engine/array.ts";
import type { Scored, Scorer } from "../reward/scored.ts";
import type { Rolled } from "../rollout/groups.ts";
import type { Segment, Trajectory } from "../rollout/trajectory.ts";
import type { RlConfig } from "./config.ts";
import type { Verdict } from "./filter.ts";
import type { Steering } from "./interventions/steering.ts";
import type { Learner, UpdateReport } from "./learner.ts";
import type { WeightedRow } from "./micro-batch.ts";
import type { Policy } from "./policy/policy.ts";
import type { Algorithm } from "./presets.ts";
import type { Remote, RollUse } from "./remote.ts";
import type { TeamLearning } from "./team-learning.ts";
import type { StepEvent, TeamWatch } from "./team-watch.ts";
import type { TokenKind } from "./token-kinds.ts";

/** Everything one training step needs; the caller owns the world around it. */
export interface Trainer {
  readonly config: RlConfig;
  readonly algorithm: Algorithm;
  readonly seed: number;
  /** Groups with signal that a step wants, and how many further batches it may sample for them. */
  readonly tasksPerStep: number;
  readonly refillBatches: number;
  readonly source: TaskSource;
  /** Plays G episodes of each task by the policy as last published, or by the leased version. `refill` counts from 0, the step's own batch. */
  readonly roll: (tasks: readonly Task[], step: number, refill: number, use: RollUse) => Promise<Rolled>;
  readonly score: Scorer;
  readonly learner: Learner;
  /** Weights of the policy as RL began, for the KL term. */
  readonly reference: Params;
  /** Gives the sampler the new version; resolves, with what it measured, when new rollouts can use it. */
  readonly publish: (policy: Policy) => Promise<Readonly<Record<string, number>>>;
  /** Rollouts on servers; absent in process. */
  readonly remote?: Remote;
  /** Where the policy has several adapters, or seats learn in stages. */
  readonly team?: TeamLearning;
  /** What is looked for in a team's episodes. */
  readonly watch?: TeamWatch;
  /** What interventions change while the run goes on. */
  readonly steering?: Pick<Steering, "rate" | "learns">;
  /** What each token of a policy segment belongs to, [N]. */
  readonly kinds: (segment: Segment) => readonly TokenKind[];
  /** Seconds since some moment. */
  readonly clock: () => number;
}

/** One optimiser step: what went in and what came out. */
export interface Learnt {
  readonly rows: readonly WeightedRow[];
  readonly report: UpdateReport;
}

export interface StepReport {
  /** Steps done, from 1. */
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly trajectories: readonly {
    trajectory: Trajectory | Scored;
    group: number;
    verdict: Verdict | "failed";
    advantage?: number;
    /** Of each turn, [sequences][policy segments], where turns have their own. */
    turnAdvantages?: readonly (readonly number[])[];
  }[];
  /** What else is to be recorded of the step. */
  readonly events?: readonly StepEvent[];
  /** Place of the stage that begins after this step, from 0; absent where none does. */
  readonly stage?: number;
  /** The step is done, but its policy could not be published: what to throw once the step is on record. */
  readonly failure?: unknown;
}
