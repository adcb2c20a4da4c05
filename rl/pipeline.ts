import { ConfigError } from "../core/errors.ts";
import type { Task } from "../datasets/task.ts";
import type { Params } from "../engine/array.ts";
import { atStep } from "../reward/score-all.ts";
import { type Collected, collect } from "./collect.ts";
import { cutMetrics } from "./cut.ts";
import { scorerOf } from "./overlong.ts";
import type { Lease, RollUse } from "./remote.ts";
import { createSlots } from "./slots.ts";
import { dropStale } from "./staleness.ts";
import { stepDeadline } from "./step-deadline.ts";
import type { Trainer } from "./trainer.ts";

/** The rollouts of one step, ready to learn from. */
export interface Taken {
  readonly collected: Collected;
  /** Weights that learn, of a version that sampled it. */
  readonly trainable: (version: number) => Params;
  readonly metrics: Readonly<Record<string, number>>;
}

/** The rollouts of a run, step by step, `maxStaleness` steps ahead of the updates. */
export interface Pipeline {
  /** The step's rollouts, when they are done. Steps are taken in order. @throws what made them fail */
  take(step: number): Promise<Taken>;
  /** The step's update is done and published: the next rollouts may begin. */
  done(step: number): void;
  /** Calls off what still runs, and waits for its end. */
  close(): Promise<void>;
}

/** A step's collection under way. */
interface Open {
  readonly result: Promise<Collected>;
  readonly leases: readonly Lease[];
  settled: boolean;
}

/**
 * Step k may begin to roll when k − (steps done) ≤ maxStaleness; with 0 it begins when it is taken. A batch samples from
 * the newest version at its start, which waits until there is a free slot and every earlier step's batch has begun: so
 * no version is older than it must be, and the servers are never idle while a step's last episodes are on the way.
 */
export function openPipeline(t: Trainer, from: number, to: number): Pipeline {
  const { maxStaleness, stepTimeoutMs } = t.config;
  const { remote } = t;
  if (maxStaleness > 0 && !remote)
    throw new ConfigError({
      what: "rollouts cannot run ahead of an update in the same process",
      where: "rl.maxStaleness",
      got: String(maxStaleness),
      expected: "0, or an endpoint",
      next: "Set rl.maxStaleness to 0, or name servers in `endpoint`.",
    });
  const controller = new AbortController();
  const slots = remote && createSlots(remote.concurrency);
  const open = new Map<number, Open>();
  let next = from;
  let begun: Promise<void> = Promise.resolve();

  const start = (step: number) => {
    const deadline = stepDeadline(stepTimeoutMs, () => remote?.hurry());
    const leases: Lease[] = [];
    const earlier = begun;
    let begin = () => {};
    begun = new Promise((resolve) => {
      begin = resolve;
    });
    const use: RollUse = {
      signal: controller.signal,
      cut: deadline.cut,
      ...(slots && { limit: (work, signal) => slots.run(step, work, signal) }),
    };
    const roll = async (tasks: readonly Task[], refill: number) => {
      if (!remote || !slots) {
        deadline.start();
        return t.roll(tasks, step, refill, use);
      }
      await earlier;
      await slots.run(step, async () => {}, controller.signal);
      controller.signal.throwIfAborted();
      deadline.start();
      const lease = remote.lease();
      leases.push(lease);
      try {
        const rolled = t.roll(tasks, step, refill, { ...use, lease });
        begin();
        return await rolled;
      } finally {
        lease.release();
      }
    };
    const result = collect({
      tasksPerStep: t.tasksPerStep,
      refillBatches: t.refillBatches,
      batch: (size, refill) => (deadline.cut.aborted ? [] : t.source.batch(step, size, refill)),
      roll,
      score: atStep(scorerOf(t), step),
      rules: t.watch?.rules,
      signal: controller.signal,
      algorithm: t.algorithm,
      clock: t.clock,
    }).finally(() => {
      deadline.end();
      begin();
      entry.settled = true;
    });
    const entry: Open = { result, leases, settled: false };
    result.catch(() => {}); // It is thrown where the step is taken.
    open.set(step, entry);
  };

  const admit = (stepsDone: number) => {
    while (next < to && next - stepsDone <= maxStaleness) start(next++);
  };

  return {
    async take(step) {
      admit(step);
      const present = t.learner.policy.trainable;
      const { result, leases } = open.get(step)!;
      const began = t.clock();
      const depth = [...open.values()].filter(({ settled }) => settled).length;
      const collected = await result.finally(() => open.delete(step));
      const waited = t.clock() - began;
      const cut = stepTimeoutMs > 0 ? cutMetrics(collected) : {};
      if (!remote) return { collected, trainable: () => present, metrics: cut };
      const fresh = dropStale(collected, { leases, newest: remote.newest, maxStaleness });
      const weights = new Map(leases.map(({ version, trainable }) => [version, trainable]));
      return {
        collected: fresh.collected,
        trainable: (version) => weights.get(version)!,
        metrics: { ...cut, ...fresh.metrics, queue_depth: depth, seconds_rollout_wait: waited },
      };
    },
    done(step) {
      if (maxStaleness > 0) admit(step + 1);
    },
    async close() {
      controller.abort();
      await Promise.allSettled([...open.values()].map(({ result }) => result));
    },
  };
}
