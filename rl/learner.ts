import { InvariantError } from "../core/errors.ts";
import type { Params } from "../engine/array.ts";
import { type AdamState, adamStart } from "./adam.ts";
import { type LearnStep, type LearnStepOptions, learnStep, type UpdateReport } from "./learn-step.ts";
import type { WeightedRow } from "./micro-batch.ts";
import { joinParams, paramsOf } from "./policy/adapters.ts";
import type { Policy } from "./policy/policy.ts";

export type { LossConfig, UpdateReport } from "./learn-step.ts";

/** Owns the weights that learn and the optimiser's state; computes gradients and steps. */
export interface Learner {
  readonly policy: Policy;
  readonly optimizer: AdamState;
  /**
   * Accumulates the gradient over micro-batches on the device, clips, steps; the policy's version rises by one. Of
   * several adapters each takes a step of its own on its own rows, and those without rows stay as they are, bit for bit.
   * @throws DivergedError when loss, gradient or new weights are no numbers; the policy is then the one before
   */
  update(
    rows: readonly WeightedRow[],
    o: { temperature: number; learningRate: number },
  ): Promise<UpdateReport>;
  /**
   * log π of each token under `trainable` (default: the present weights), [rows][T] as in UpdateReport. A row that names
   * no adapter is computed under `trainable` as it is.
   */
  logprobs(rows: readonly WeightedRow[], temperature: number, trainable?: Params): Promise<number[][]>;
}

export function createLearner(
  o: LearnStepOptions & { readonly policy: Policy; readonly state?: AdamState },
): Learner {
  const steps = learnStep(o);
  const state = o.state ?? adamStart(o.policy.trainable);
  const { adapters } = o.policy;
  return adapters ? ofSeveral(steps, o.policy, state, adapters) : ofOne(steps, o.policy, state);
}

function ofOne(steps: LearnStep, start: Policy, state: AdamState): Learner {
  let [policy, adam] = [start, state];
  return {
    get policy() {
      return policy;
    },
    get optimizer() {
      return adam;
    },
    async update(rows, settings) {
      const { trainable } = policy;
      const next = await steps.step(rows, { trainable, adam }, settings);
      adam = next.adam;
      policy = { ...policy, trainable: next.trainable, version: policy.version + 1 };
      return next.report;
    },
    logprobs: (rows, temperature, trainable = policy.trainable) =>
      steps.logprobs(rows, temperature, trainable),
  };
}

/** Each adapter with weights and moments of its own, all through the same graphs. */
function ofSeveral(steps: LearnStep, start: Policy, state: AdamState, adapters: readonly string[]): Learner {
  let [policy, adam] = [start, state];

  /** Places of each adapter's rows, in the order of the adapters. */
  const deal = (rows: readonly WeightedRow[]) => {
    const stranger = rows.find(({ adapter }) => adapter === undefined || !adapters.includes(adapter));
    if (stranger)
      throw new InvariantError({
        what: "a row of an adapter that the policy has not",
        got: stranger.adapter ?? "no adapter",
        expected: adapters.join(", "),
      });
    return adapters.flatMap((adapter) => {
      const places = rows.flatMap((row, i) => (row.adapter === adapter ? [i] : []));
      return places.length === 0 ? [] : [{ adapter, places, rows: places.map((i) => rows[i]!) }];
    });
  };

  return {
    get policy() {
      return policy;
    },
    get optimizer() {
      return adam;
    },
    async update(rows, settings) {
      const sets = setsOf(policy.trainable, adapters);
      const moments = { mu: setsOf(adam.mu, adapters), nu: setsOf(adam.nu, adapters) };
      const counts = Object.fromEntries(adapters.map((adapter) => [adapter, adam.steps?.[adapter] ?? 0]));
      const all = new Array<{ logprobs: readonly number[]; entropies: readonly number[] }>(rows.length);
      const each: Record<string, UpdateReport> = {};
      for (const { adapter, places, rows: own } of deal(rows)) {
        const from = { step: counts[adapter]!, mu: moments.mu[adapter]!, nu: moments.nu[adapter]! };
        const next = await steps.step(own, { trainable: sets[adapter]!, adam: from }, settings);
        const { report } = next;
        sets[adapter] = next.trainable;
        moments.mu[adapter] = next.adam.mu;
        moments.nu[adapter] = next.adam.nu;
        counts[adapter] = next.adam.step;
        each[adapter] = report;
        places.forEach((place, i) => {
          all[place] = { logprobs: report.logprobs[i]!, entropies: report.entropies[i]! };
        });
      }
      // All of them or none: what diverges above leaves everything as it was.
      adam = { step: adam.step + 1, mu: joinParams(moments.mu), nu: joinParams(moments.nu), steps: counts };
      policy = { ...policy, trainable: joinParams(sets), version: policy.version + 1 };
      const reports = Object.values(each);
      const sum = (f: (report: UpdateReport) => number) => reports.reduce((n, report) => n + f(report), 0);
      return {
        policyLoss: sum((report) => report.policyLoss),
        gradNorm: Math.sqrt(sum(({ gradNorm }) => gradNorm ** 2)),
        logprobs: all.map(({ logprobs }) => logprobs),
        entropies: all.map(({ entropies }) => entropies),
        slots: sum(({ slots }) => slots),
        adapters: each,
      };
    },
    async logprobs(rows, temperature, trainable = policy.trainable) {
      if (rows.every(({ adapter }) => adapter === undefined))
        return steps.logprobs(rows, temperature, trainable);
      const out = new Array<number[]>(rows.length);
      for (const { adapter, places, rows: own } of deal(rows)) {
        const lists = await steps.logprobs(own, temperature, paramsOf(trainable, adapter));
        places.forEach((place, i) => {
          out[place] = lists[i]!;
        });
      }
      return out;
    },
  };
}

const setsOf = (params: Params, adapters: readonly string[]): Record<string, Params> =>
  Object.fromEntries(adapters.map((adapter) => [adapter, paramsOf(params, adapter)]));
