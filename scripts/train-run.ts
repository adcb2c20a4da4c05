import type { Config } from "../configs/schema.ts";
import { isEvalStep } from "../eval/config.ts";
import type { EvalResult } from "../eval/evaluate.ts";
import { resultLine } from "../eval/table.ts";
import { algorithmOf } from "../rl/config.ts";
import { createLearner } from "../rl/learner.ts";
import type { Policy } from "../rl/policy/policy.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import { loadCheckpoint, type RunState } from "../rl/run-checkpoint.ts";
import { train } from "../rl/step.ts";
import { tokenKinds } from "../rl/token-kinds.ts";
import { alarmsOf, legend, stepLine } from "../track/console.ts";
import { checkpointPath, listCheckpoints } from "../track/run-folder.ts";
import { evaluateAll } from "./evaluations.ts";
import type { Output } from "./output.ts";
import { policyPlayer } from "./policy-player.ts";
import type { EvalSummary, RunRecord } from "./run-record.ts";
import type { Setup } from "./setup.ts";
import { warmUp } from "./warm-up.ts";

export interface RunResult {
  readonly status: "done" | "interrupted";
  readonly evals: readonly EvalResult[];
  readonly weightsSha256: string;
  readonly steps: number;
}

/**
 * The run: warm-up, evaluation at step 0, training, evaluations, checkpoints. Starts where the last checkpoint
 * stands, so a killed run and a whole one end the same.
 */
export async function runTraining(
  setup: Setup,
  record: RunRecord,
  o: { output: Output; signal: AbortSignal },
): Promise<RunResult> {
  const { config } = setup;
  const { output, signal } = o;
  const evals = new Evals(config);
  const last = listCheckpoints(record.folder).at(-1);
  let state: RunState = last
    ? loadCheckpoint(last.path, setup.start)
    : { phase: "sft", step: 0, policy: setup.start, adam: { step: 0, mu: {}, nu: {} } };
  if (last) output.line(`continuing from ${last.phase} step ${last.step}`);
  record.db.rollBack(state.phase, state.step);
  const stopped = (at: RunState): RunResult => ({
    status: "interrupted",
    evals: evals.all,
    weightsSha256: weightsSha256(at.policy),
    steps: at.phase === "rl" ? at.step : 0,
  });

  if (state.phase === "sft" && config.sft.steps > 0) {
    const bar = output.progress("warm-up", config.sft.steps);
    bar.tick(state.step);
    const every = Math.max(config.track.saveEvery, Math.ceil(config.sft.steps / 20));
    for await (const done of warmUp(setup, state)) {
      const { metrics, ...next } = done;
      state = next;
      record.commit({ phase: "sft", step: done.step, metrics, trajectories: [] });
      output.event("step", { phase: "sft", step: done.step, ...metrics });
      if (done.step % lineEvery(config.sft.steps) === 0 || done.step === config.sft.steps)
        output.line(stepLine("sft", done.step, config.sft.steps, metrics));
      bar.tick();
      const interrupted = signal.aborted;
      if (interrupted || done.step % every === 0) await record.checkpoint(state);
      if (interrupted) {
        bar.done();
        return stopped(state);
      }
    }
    bar.done();
  }

  if (state.phase === "sft") {
    // RL starts from version 0 with a fresh optimiser; its checkpoint is the reference of KL and of every comparison.
    state = {
      phase: "rl",
      step: 0,
      policy: { ...state.policy, version: 0 },
      adam: { step: 0, mu: {}, nu: {} },
    };
    const fresh = newLearner(setup, state);
    state = { ...state, adam: fresh.optimizer };
    await record.checkpoint(state);
  }

  const player = policyPlayer(setup, state.policy);
  const evaluateAt = async (at: RunState) => {
    if (!isEvalStep(config.eval, at.step, config.rl.steps) || setup.benchmarks.length === 0) return;
    const results = await evaluateAll(setup, {
      player,
      policy: at.policy,
      step: at.step,
      folder: record.folder.evals,
      output,
      signal,
    });
    evals.add(results);
    for (const result of results) {
      output.line(resultLine(result));
      output.event("eval", { ...summaryOf(result) });
      record.db.event("rl", at.step, "eval", result);
    }
  };
  try {
    evals.recall(record, state.step);
    await evaluateAt(state);
    if (state.step < config.rl.steps)
      state = await reinforce(setup, record, { ...o, state, player, evaluateAt, evals });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    player.sampler.dispose();
  }
  if (signal.aborted && !(state.step === config.rl.steps && evals.complete(state.step)))
    return stopped(state);
  return { status: "done", evals: evals.all, weightsSha256: weightsSha256(state.policy), steps: state.step };
}

const newLearner = (setup: Setup, state: RunState) => {
  const { rl } = setup.config;
  return createLearner({
    engine: setup.engine,
    policy: state.policy,
    loss: { ...algorithmOf(rl), entropyCoefficient: rl.entropyCoefficient },
    optimizer: rl.optimizer,
    slots: rl.slots,
    ...(state.adam.step > 0 ? { state: state.adam } : {}),
  });
};

async function reinforce(
  setup: Setup,
  record: RunRecord,
  o: {
    output: Output;
    signal: AbortSignal;
    state: RunState;
    player: ReturnType<typeof policyPlayer>;
    evaluateAt: (at: RunState) => Promise<void>;
    evals: Evals;
  },
): Promise<RunState> {
  const { config, tokenizer } = setup;
  const { output, signal, player } = o;
  const { rl } = config;
  const algorithm = algorithmOf(rl);
  const learner = newLearner(setup, o.state);
  player.publish(learner.policy);
  const lengths = new Map<number, number>();
  const reference = loadReference(setup, record, algorithm.kl !== "none" && o.state.step > 0);
  if (rl.updatesPerStep === 1 && algorithm.surrogate !== "reinforce")
    output.line("one update a step: the ratio is 1 and clipping idle");
  if (algorithm.advantage === "grpo" && algorithm.filterMetric === "reward")
    output.warn(
      "std-normalised advantages with groups filtered on the reward: a group that differs by the 0.1 of a tag learns as loudly as right against wrong (rl.filterMetric: exactMatch avoids it)",
    );
  output.line(legend);
  const bar = output.progress("training", rl.steps);
  bar.tick(o.state.step);
  let state = o.state;
  const steps = train(
    {
      config: rl,
      algorithm,
      seed: config.run.seed,
      tasksPerStep: config.rollout.tasksPerStep,
      refillBatches: config.rollout.refillBatches,
      source: setup.source,
      roll: player.train,
      score: setup.score,
      learner,
      reference: (reference ?? o.state.policy).trainable,
      publish: player.publish,
      kinds: (segment) => tokenKinds(segment, tokenizer, lengths),
      clock: () => performance.now() / 1e3,
    },
    o.state.step,
    rl.steps,
  );
  for await (const report of steps) {
    state = { phase: "rl", step: report.step, policy: learner.policy, adam: learner.optimizer };
    record.commit({
      phase: "rl",
      step: report.step,
      metrics: report.metrics,
      trajectories: report.trajectories,
    });
    output.line(stepLine("rl", report.step, rl.steps, report.metrics));
    output.event("step", { phase: "rl", step: report.step, ...report.metrics });
    for (const alarm of alarmsOf(report.metrics)) {
      output.warn(`step ${report.step}: ${alarm}`);
      record.db.event("rl", report.step, "alarm", alarm);
    }
    bar.tick();
    const evaluates = isEvalStep(config.eval, report.step, rl.steps);
    if (signal.aborted || evaluates || report.step % config.track.saveEvery === 0 || report.step === rl.steps)
      await record.checkpoint(state, o.evals.best());
    if (signal.aborted) break;
    await o.evaluateAt(state);
  }
  bar.done();
  return state;
}

/** The weights as RL began, when the KL term needs them and the run has moved on. */
function loadReference(setup: Setup, record: RunRecord, needed: boolean): Policy | undefined {
  return needed ? loadCheckpoint(checkpointPath(record.folder, "rl", 0), setup.start).policy : undefined;
}

const lineEvery = (steps: number) => Math.max(1, Math.round(steps / 40));

export const summaryOf = ({
  step,
  mode,
  benchmark,
  n,
  em,
  low,
  high,
  byHops,
  emAt,
}: EvalResult): EvalSummary => ({ step, mode, benchmark, n, em, low, high, byHops, emAt });

/** The evaluations of a run so far. */
class Evals {
  readonly all: EvalResult[] = [];
  readonly #config: Config;
  constructor(config: Config) {
    this.#config = config;
  }
  /** Takes up results of an earlier attempt, up to but without `step`: that one is evaluated (or found recorded) again. */
  recall(record: RunRecord, step: number): void {
    for (const { data, step: at } of record.db.events("eval"))
      if (at < step) this.all.push(data as EvalResult);
  }
  add(results: readonly EvalResult[]): void {
    this.all.push(...results);
  }
  complete(step: number): boolean {
    const { benchmarks, modes } = this.#config.eval;
    return this.all.filter((r) => r.step === step).length >= benchmarks.length * modes.length;
  }
  /** The step with the best greedy (else first) mode on the first benchmark. */
  best(): number | undefined {
    const first = this.#config.eval.benchmarks[0]?.name;
    const mode = this.#config.eval.modes[0];
    const candidates = this.all.filter((r) => r.benchmark === first && r.mode === mode);
    return candidates.reduce<EvalResult | undefined>(
      (best, r) => (best && best.em >= r.em ? best : r),
      undefined,
    )?.step;
  }
}
