import type { RuleName } from "./config.ts";

/** What a run has just recorded. Steps count from 1; an evaluation is of the policy after `step` updates. */
export type Observation =
  | {
      readonly kind: "step";
      readonly step: number;
      readonly metrics: Readonly<Record<string, number>>;
      /** A checkpoint is due after this step, whether or not one was written besides. */
      readonly saved: boolean;
    }
  | { readonly kind: "evaluation"; readonly step: number; readonly em: number };

/** One thing that is done. */
export type Action =
  | { readonly do: "weights"; readonly factors: Readonly<Record<string, number>> }
  | { readonly do: "harder"; readonly share: number }
  | { readonly do: "restart"; readonly from: number }
  | { readonly do: "learningRate"; readonly factor: number; readonly most?: number; readonly least: number }
  | { readonly do: "freeze"; readonly learn: readonly string[]; readonly until: number };

/** A rule that acted: when, on which numbers, and what it did. */
export interface Intervention {
  readonly rule: RuleName;
  readonly step: number;
  readonly evidence: Readonly<Record<string, number>>;
  /** Empty where a rule may do no more. */
  readonly actions: readonly Action[];
}

/** What the interventions so far come to. */
export interface Effects {
  /** Of each reward part that is weighed anew. */
  readonly weights: Readonly<Record<string, number>>;
  readonly harder: number;
  readonly rate: { readonly factor: number; readonly most?: number; readonly least: number };
  /** Roles that alone learn while fewer steps than `until` are done. */
  readonly frozen?: { readonly learn: readonly string[]; readonly until: number };
}

export interface RuleState {
  readonly armed: boolean;
  readonly times: number;
  /** Step at which it last acted. */
  readonly at?: number;
}

export interface StepPoint {
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/** All that deciding depends on: a fold over what the run has recorded, so nothing of it is ever saved. */
export interface InterventionState {
  /** The latest steps, as many as any rule looks at. */
  readonly steps: readonly StepPoint[];
  readonly evaluations: readonly { readonly step: number; readonly em: number; readonly reward?: number }[];
  readonly rules: Readonly<Partial<Record<RuleName, RuleState>>>;
  readonly effects: Effects;
  /** Step of the last checkpoint that quiet steps followed; 0 is the policy as RL began. */
  readonly stable: number;
  /** Checkpoints that may become stable, each with the quiet steps since. */
  readonly candidates: readonly { readonly step: number; readonly quiet: number }[];
}

export const startState: InterventionState = {
  ...{ steps: [], evaluations: [], rules: {}, stable: 0, candidates: [] },
  effects: { weights: {}, harder: 0, rate: { factor: 1, least: 0 } },
};

/** The effects once more is done. */
export function withAction(effects: Effects, action: Action): Effects {
  switch (action.do) {
    case "weights": {
      const added = Object.entries(action.factors).map(([part, factor]) => [
        part,
        (effects.weights[part] ?? 1) * factor,
      ]);
      return { ...effects, weights: { ...effects.weights, ...Object.fromEntries(added) } };
    }
    case "harder":
      return { ...effects, harder: action.share };
    case "learningRate": {
      const { most = effects.rate.most, least } = action;
      const factor = effects.rate.factor * action.factor;
      return { ...effects, rate: { factor, least, ...(most === undefined ? {} : { most }) } };
    }
    case "freeze":
      return { ...effects, frozen: { learn: action.learn, until: action.until } };
    case "restart":
      return effects;
  }
}

/** The learning rate of a step, from what the schedule says. */
export function rateOf({ rate: { factor, most, least } }: Effects, scheduled: number): number {
  const lowered = Math.min(most ?? Number.POSITIVE_INFINITY, scheduled * factor);
  return lowered < scheduled ? Math.max(Math.min(least, scheduled), lowered) : scheduled;
}

/** Does a role learn in the step that follows `done` steps? */
export function learns({ frozen }: Effects, seat: string, done: number): boolean {
  return frozen === undefined || done >= frozen.until || frozen.learn.includes(seat);
}
