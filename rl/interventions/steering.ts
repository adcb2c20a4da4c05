import type { TaskSource } from "../../datasets/batch.ts";
import type { Guide } from "../../datasets/guide.ts";
import type { Scorer } from "../../reward/scored.ts";
import type { PresetName } from "../presets.ts";
import type { InterventionsConfig } from "./config.ts";
import { decide, rulesOf } from "./decide.ts";
import {
  type Intervention,
  type InterventionState,
  learns,
  type Observation,
  rateOf,
  startState,
} from "./state.ts";

/** How a run's trainer is steered while it runs: all that interventions change but the restart itself. */
export class Steering {
  readonly #config: InterventionsConfig;
  #state: InterventionState = startState;

  constructor({ interventions, preset }: { interventions: InterventionsConfig; preset: PresetName }) {
    this.#config = rulesOf(interventions, preset);
  }

  /** Takes in what the run has recorded, in order. @returns the rules that act on it */
  observe(seen: Observation): readonly Intervention[] {
    const { state, fired } = decide(this.#config, this.#state, seen);
    this.#state = state;
    return fired;
  }

  /** Steps whose checkpoints a restart may need. */
  get pinned(): readonly number[] {
    return [this.#state.stable, ...this.#state.candidates.map(({ step }) => step)];
  }

  /** Learning rate in place of the scheduled one. */
  rate(scheduled: number): number {
    return rateOf(this.#state.effects, scheduled);
  }

  /** Does a role learn in the step that follows `done` steps? */
  learns(seat: string, done: number): boolean {
    return learns(this.#state.effects, seat, done);
  }

  /** The scorer of training, with the weights as they are when it is asked for a step. Evaluations keep the plain one. */
  scorer(score: Scorer): Scorer {
    if (this.#config.processWeight === undefined) return score;
    const { at, withTurnCredits } = score;
    const factors = () => this.#state.effects.weights;
    return Object.assign((trajectory: Parameters<Scorer>[0]) => score(trajectory), score, {
      at(step: number): Scorer {
        const then = at?.(step) ?? score;
        return Object.keys(factors()).length > 0 ? (then.reweighed?.(factors()) ?? then) : then;
      },
      ...(withTurnCredits && { withTurnCredits: () => this.scorer(withTurnCredits()) }),
    });
  }

  /** The source of training, guided by what the run has shown so far. */
  source(source: TaskSource, solved: Guide["solved"]): TaskSource {
    return {
      ...(source.measured === undefined ? {} : { measured: source.measured }),
      batch: (step, size, refill) =>
        source.batch(step, size, refill, { harder: this.#state.effects.harder, solved }),
    };
  }
}
