/** Toys for tests of the pipeline: a learner that only counts, rollers that end when they are told to. */
import type { Task } from "../datasets/task.ts";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import type { Rolled } from "../rollout/groups.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { algorithmOf, rlConfig } from "./config.ts";
import type { Learner } from "./learner.ts";
import { toyConfig } from "./policy/testing.ts";
import type { Lease, Remote, RollUse } from "./remote.ts";
import type { Trainer } from "./trainer.ts";

/** A promise and its end. */
export function gate(): { readonly passed: Promise<void>; open(): void; break(error: unknown): void } {
  let open = () => {};
  let fail: (error: unknown) => void = () => {};
  const passed = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, break: (error) => fail(error) };
}

/** One turn of the event loop: everything that could go on has. */
export const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A group of two, one right, sampled by a version. */
export function rolledBy(version: number, tasks: readonly Task[]): Rolled {
  const member = (task: Task, i: number): Trajectory => ({
    ...toyTrajectory([]),
    task,
    member: i,
    sequences: [
      {
        seat: "s",
        segments: [
          { source: "prompt", text: "q", tokens: [0] },
          { source: "policy", text: "x", tokens: [1, 2], logprobs: [-1, -1], version },
        ],
      },
    ],
  });
  return {
    groups: tasks.map((task) => ({ task, members: [member(task, 0), member(task, 1)] })),
    ...{ tooFew: [], leftOut: [], retried: [] },
  };
}

export interface ToyRun {
  readonly trainer: Trainer;
  /** What happened, in order: "roll 1.0 v0", "update 0", "publish v1", "release v0", "hurry". */
  readonly log: string[];
  /** Versions whose weights were asked for, by update. */
  readonly recomputed: number[][];
}

/** A trainer of toys; every hook runs where its work would. */
export function toyRun(o: {
  config?: object;
  remote?: boolean;
  concurrency?: number;
  refillBatches?: number;
  roll?: (tasks: readonly Task[], step: number, attempt: number, use: RollUse) => Promise<Rolled>;
  onUpdate?: (update: number) => Promise<void>;
  onPublish?: (version: number) => Promise<void>;
  reward?: (t: Trajectory) => number;
}): ToyRun {
  const log: string[] = [];
  const recomputed: number[][] = [];
  const config = rlConfig.parse({ filter: "none", ...o.config });
  let policy: Learner["policy"] = { config: toyConfig({}), frozen: {}, trainable: weightsOf(0), version: 0 };
  let updates = 0;
  const learner: Learner = {
    get policy() {
      return policy;
    },
    optimizer: { step: 0, mu: {}, nu: {} },
    async update(rows) {
      const update = updates++;
      log.push(`update ${update}`);
      await o.onUpdate?.(update);
      policy = { ...policy, trainable: weightsOf(policy.version + 1), version: policy.version + 1 };
      const zeros = rows.map((row) => row.tokens.map(() => 0));
      return { policyLoss: 0, gradNorm: 0, logprobs: zeros, entropies: zeros, slots: 0 };
    },
    async logprobs(rows, _temperature, trainable) {
      const version = trainable?.version?.data[0] ?? -1;
      recomputed[updates] = [...(recomputed[updates] ?? []), version];
      return rows.map((row) => row.tokens.map(() => -1));
    },
  };
  let newest = { version: 0, order: 0, trainable: policy.trainable };
  const remote: Remote = {
    concurrency: o.concurrency ?? 100,
    hurry: () => void log.push("hurry"),
    get newest() {
      return newest.order;
    },
    lease(): Lease {
      const { version } = newest;
      return { ...newest, model: `run-v${version}`, release: () => void log.push(`release v${version}`) };
    },
  };
  const trainer: Trainer = {
    ...{ config, learner, algorithm: algorithmOf(config), seed: 1, tasksPerStep: 1 },
    refillBatches: o.refillBatches ?? 0,
    source: { batch: (step, size, attempt = 0) => [{ ...toyTask, id: `${step}.${attempt}` }].slice(0, size) },
    async roll(tasks, step, attempt, use) {
      log.push(`roll ${step}.${attempt} v${use.lease?.version ?? "-"}`);
      return o.roll
        ? o.roll(tasks, step, attempt, use)
        : rolledBy(use.lease?.version ?? policy.version, tasks);
    },
    score: (t) => ({ ...t, parts: { exactMatch: t.member }, reward: o.reward?.(t) ?? t.member }),
    reference: {},
    async publish(next) {
      log.push(`publish v${next.version}`);
      await o.onPublish?.(next.version);
      newest = { version: next.version, order: newest.order + 1, trainable: next.trainable };
      return { seconds_publish: 0 };
    },
    kinds: (segment) => segment.tokens.map(() => "other" as const),
    clock: () => 0,
    ...(o.remote === false ? {} : { remote }),
  };
  return { trainer, log, recomputed };
}

/** Weights that say which version they are. */
const weightsOf = (version: number) => ({
  version: { shape: [1], dtype: "float32" as const, data: Float32Array.of(version) },
});
