import type { TaskSource } from "../datasets/batch.ts";
import { SolveRates } from "../datasets/guide.ts";
import type { EvalResult } from "../eval/evaluate.ts";
import type { Scorer } from "../reward/scored.ts";
import type { Intervention } from "../rl/interventions/state.ts";
import { Steering } from "../rl/interventions/steering.ts";
import { interventionWords } from "../rl/interventions/words.ts";
import { loadCheckpoint, type RunState } from "../rl/run-checkpoint.ts";
import type { StepReport, Trainer } from "../rl/trainer.ts";
import type { Metrics } from "../track/run-db.ts";
import { listCheckpoints } from "../track/run-folder.ts";
import type { Output } from "./output.ts";
import type { RunEvals } from "./run-evals.ts";
import type { RunRecord } from "./run-record.ts";
import type { Setup } from "./setup.ts";

/**
 * The interventions of a run. What they come to is a fold over run.db, which a resumed run has up to its checkpoint: so it
 * stands where the run stood that was never stopped.
 */
export class Interventions {
  readonly steering: Steering;
  readonly #solved = new SolveRates();
  readonly #setup: Setup;
  readonly #record: RunRecord;
  readonly #evals: RunEvals;
  readonly #output: Output;
  #evaluated = -1;

  /** Takes up what the run has recorded. */
  constructor(setup: Setup, record: RunRecord, { evals, output }: { evals: RunEvals; output: Output }) {
    this.#setup = setup;
    this.#record = record;
    this.#evals = evals;
    this.#output = output;
    this.steering = new Steering(setup.config.rl);
    const told = new Set(record.db.events("intervention").map(({ data }) => keyOf(data as Intervention)));
    const tell = (fired: readonly Intervention[]) =>
      this.#tell(fired.filter((each) => !told.has(keyOf(each))));
    tell(this.#evaluation(0));
    for (const { phase, step, metrics } of record.db.metrics()) {
      if (phase !== "rl") continue;
      if (setup.source.measured) this.#measure(record.db.trajectories(step));
      tell([...this.#step(step, metrics), ...this.#evaluation(step)]);
    }
  }

  /** What the trainer asks, where a rule may ever answer otherwise. */
  get hooks(): Pick<Trainer, "steering"> {
    const { stableRestart, freezeRoles } = this.#setup.config.rl.interventions;
    return stableRestart || freezeRoles ? { steering: this.steering } : {};
  }

  /** The source of training, guided by the run so far. */
  get source(): TaskSource {
    return this.steering.source(this.#setup.source, this.#solved.counts);
  }

  /** The scorer of training. */
  get score(): Scorer {
    return this.steering.scorer(this.#setup.score);
  }

  /** A checkpoint is due after this step. */
  due(step: number): boolean {
    const { rl, track } = this.#setup.config;
    return this.#evals.due(step) || step % track.saveEvery === 0 || step === rl.steps;
  }

  /** A step is on record. @returns the state to go on from: `state`, or that of an earlier checkpoint */
  stepped({ step, metrics, trajectories }: StepReport, state: RunState): RunState {
    if (this.#setup.source.measured)
      this.#measure(
        trajectories.map(({ trajectory: t }) => ({ taskId: t.task.id, parts: "parts" in t ? t.parts : {} })),
      );
    const fired = this.#step(step, metrics);
    this.#tell(fired);
    const restart = fired.flatMap(({ actions }) => actions).find((action) => action.do === "restart");
    return restart ? this.#restored(restart.from, state) : state;
  }

  /** The policy after `step` updates may have been evaluated. */
  evaluated(step: number): void {
    this.#tell(this.#evaluation(step));
  }

  #step(step: number, metrics: Metrics): readonly Intervention[] {
    const fired = this.steering.observe({ kind: "step", step, metrics, saved: this.due(step) });
    if (this.#setup.config.rl.interventions.stableRestart) this.#record.pin(this.steering.pinned);
    return fired;
  }

  #evaluation(step: number): readonly Intervention[] {
    if (step <= this.#evaluated) return [];
    const result = this.#evals.leading().find((each: EvalResult) => each.step === step);
    if (!result) return [];
    this.#evaluated = step;
    return this.steering.observe({ kind: "evaluation", step, em: result.em });
  }

  /** Weights and optimiser of a checkpoint. The version goes on rising, so that no name is used for two policies. */
  #restored(from: number, { step, policy, stage }: RunState): RunState {
    const kept = listCheckpoints(this.#record.folder).filter(
      (each) => each.phase === "rl" && each.step <= from,
    );
    const found = kept.at(-1)!; // step 0 is never pruned
    if (found.step < from)
      this.#output.warn(`the checkpoint of step ${from} is gone: going back to step ${found.step}`);
    const { policy: stable, adam } = loadCheckpoint(found.path, this.#setup.start);
    return {
      ...{ phase: "rl", step, adam, policy: { ...stable, version: policy.version + 1 } },
      ...(stage === undefined ? {} : { stage }),
    };
  }

  #measure(episodes: readonly { taskId: string; parts: Readonly<Record<string, number>> }[]): void {
    this.#solved.add(
      episodes.flatMap(({ taskId, parts: { exactMatch } }) =>
        exactMatch === undefined ? [] : [{ taskId, right: exactMatch === 1 }],
      ),
    );
  }

  #tell(fired: readonly Intervention[]): void {
    for (const each of fired) {
      const says = interventionWords(each);
      this.#record.db.event("rl", each.step, "intervention", { ...each, says });
      this.#output.warn(`step ${each.step}: ${says}`);
      this.#output.event("intervention", { ...each });
    }
  }
}

const keyOf = ({ rule, step }: Intervention) => `${rule} ${step}`;
