import type { InterventionsConfig, RuleName } from "./config.ts";
import type { Action, InterventionState, Observation, StepPoint } from "./state.ts";

/** How far a rule's signal has come: 1 is its threshold. */
export interface Signal {
  readonly level: number;
  readonly evidence: Readonly<Record<string, number>>;
}

/** What there is to one rule. All of it is pure. */
export interface Rule<C> {
  /** What it looks at the run after. */
  readonly after: Observation["kind"];
  /** Absent where there is too little to tell. */
  readonly signal: (
    when: C extends { when: infer W } ? W : never,
    state: InterventionState,
  ) => Signal | undefined;
  readonly act: (
    act: C extends { act: infer A } ? A : never,
    state: InterventionState,
    step: number,
  ) => readonly Action[];
  /** Steps it looks back at. */
  readonly looksBack: (when: C extends { when: infer W } ? W : never) => number;
}

type Rules = { readonly [K in RuleName]: Rule<NonNullable<InterventionsConfig[K]>> };

export const rules: Rules = {
  processWeight: {
    after: "evaluation",
    looksBack: ({ window }) => window,
    signal({ evaluations: back, rewardRise, emFall }, { evaluations }) {
      const [now, then] = [evaluations.at(-1), evaluations.at(-1 - back)];
      if (now?.reward === undefined || then?.reward === undefined) return undefined;
      const [rise, fall] = [now.reward - then.reward, then.em - now.em];
      return {
        level: Math.min(rise / rewardRise, fall / emFall),
        evidence: {
          ...{ reward: now.reward, rewardBefore: then.reward, em: now.em, emBefore: then.em },
          ...{ sinceStep: then.step },
        },
      };
    },
    act: ({ parts, weightFactor, harder, maxHarder }, { effects }) => [
      { do: "weights", factors: Object.fromEntries(parts.map((part) => [part, weightFactor])) },
      { do: "harder", share: Math.max(effects.harder, Math.min(maxHarder, effects.harder + harder)) },
    ],
  },
  stableRestart: {
    after: "step",
    looksBack: ({ window, baseline }) => window + baseline,
    signal({ metric, window, baseline, rise, atLeast }, { steps }) {
      const values = valuesOf(steps, metric);
      const [latest, before] = [values.slice(-window), values.slice(0, -window).slice(-baseline)];
      if (latest.length < window || before.length === 0) return undefined;
      const [now, usual] = [mean(latest), mean(before)];
      return {
        level: Math.min((now - usual) / rise, now / atLeast),
        evidence: { failures: now, failuresBefore: usual },
      };
    },
    act({ learningRate, learningRateFactor = 0.5, minLearningRate, maxRestarts }, { rules, stable }) {
      if ((rules.stableRestart?.times ?? 0) >= maxRestarts) return [];
      const most = learningRate === undefined ? {} : { most: learningRate };
      return [
        { do: "learningRate", factor: learningRateFactor, ...most, least: minLearningRate },
        { do: "restart", from: stable },
      ];
    },
  },
  freezeRoles: {
    after: "step",
    looksBack: ({ window }) => window,
    signal({ window, similarity, lengthRatio }, { steps }) {
      const latest = ["roles/similarity", "roles/length_ratio"].map((name) =>
        valuesOf(steps, name).slice(-window),
      );
      if (latest.some((values) => values.length < window)) return undefined;
      const [alike, ratio] = latest.map(mean) as [number, number];
      return {
        level: Math.min(alike / similarity, ratio / lengthRatio),
        evidence: { similarity: alike, lengthRatio: ratio },
      };
    },
    act: ({ learn, steps }, _state, step) => [{ do: "freeze", learn, until: step + steps }],
  },
};

/** Values of a metric in the steps that have it, oldest first. */
const valuesOf = (steps: readonly StepPoint[], name: string) =>
  steps.flatMap(({ metrics }) => metrics[name] ?? []);

export const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
