import { isEvalStep } from "../eval/config.ts";
import type { EvalResult } from "../eval/evaluate.ts";
import { resultLine } from "../eval/table.ts";
import type { RunState } from "../rl/run-checkpoint.ts";
import { evaluateAll } from "./evaluations.ts";
import type { Output } from "./output.ts";
import type { PolicyPlayer } from "./policy-player.ts";
import { type RunRecord, summaryOf } from "./run-record.ts";
import type { Setup } from "./setup.ts";
import { trainingOver } from "./training-end.ts";

/** The evaluations of a run: those of earlier attempts, which stand in run.db, and those to come. */
export class RunEvals {
  readonly #setup: Setup;
  readonly #record: RunRecord;
  readonly #o: { output: Output; signal: AbortSignal };

  constructor(setup: Setup, record: RunRecord, o: { output: Output; signal: AbortSignal }) {
    this.#setup = setup;
    this.#record = record;
    this.#o = o;
  }

  get all(): readonly EvalResult[] {
    return this.#record.db.events("eval").map(({ data }) => data as EvalResult);
  }

  /** Is the policy to be evaluated after `step` updates? */
  due(step: number): boolean {
    const { config, benchmarks } = this.#setup;
    const over = trainingOver(config.rl, step, this.#record.db.metrics);
    return benchmarks.length > 0 && isEvalStep(config.eval, step, over ? step : config.rl.steps);
  }

  /** Everything that was to be measured at `step` is. Results of one step are recorded together or not at all. */
  complete(step: number): boolean {
    return !this.due(step) || this.all.some((result) => result.step === step);
  }

  /** Evaluates where it is due and not done, and prunes checkpoints by what came out. Throws the signal's reason. */
  async at({ step, policy }: RunState, player: PolicyPlayer): Promise<void> {
    if (this.complete(step)) return;
    const { output } = this.#o;
    const { folder, db } = this.#record;
    const results = await evaluateAll(this.#setup, {
      ...this.#o,
      player,
      policy,
      step,
      folder: folder.evals,
    });
    db.event("rl", step, "eval", ...results);
    this.#record.prune(this.best());
    for (const result of results) {
      output.line(resultLine(result));
      output.event("eval", { ...summaryOf(result) });
    }
  }

  /** The results on the first benchmark, greedy where there is a choice. */
  leading(): readonly EvalResult[] {
    const { benchmarks, modes } = this.#setup.config.eval;
    const mode = modes.includes("greedy") ? "greedy" : modes[0];
    return this.all.filter((r) => r.benchmark === benchmarks[0]?.name && r.mode === mode);
  }

  /** The step with the best leading result; of equals the first. */
  best(): number | undefined {
    const candidates = this.leading();
    const first = candidates[0];
    return first && candidates.reduce((best, r) => (r.em > best.em ? r : best), first).step;
  }
}
