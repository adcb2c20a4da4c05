import type { EvalResult } from "../eval/evaluate.ts";
import { adamStart } from "../rl/adam.ts";
import { sftSteps } from "../rl/config.ts";
import { weightsSha256 } from "../rl/policy/weights-hash.ts";
import { loadCheckpoint, type RunState } from "../rl/run-checkpoint.ts";
import { legend, stepLine } from "../track/console.ts";
import { listCheckpoints } from "../track/run-folder.ts";
import { Interventions } from "./interventions.ts";
import type { Output } from "./output.ts";
import { policyPlayer } from "./policy-player.ts";
import { reinforce, rlLearner } from "./reinforce.ts";
import { remotePlayer } from "./remote-player.ts";
import { RunEvals } from "./run-evals.ts";
import type { RunRecord } from "./run-record.ts";
import type { Setup } from "./setup.ts";
import { trainingOver } from "./training-end.ts";
import { warmUp } from "./warm-up.ts";

export interface RunResult {
  readonly status: "done" | "interrupted";
  readonly evals: readonly EvalResult[];
  readonly weightsSha256: string;
  readonly steps: number;
}

/**
 * The run: warm-up, evaluation at step 0, training, evaluations, checkpoints. Starts where the last checkpoint
 * stands, so a killed run and a whole one end the same. An abort ends it with everything done so far saved.
 */
export async function runTraining(
  setup: Setup,
  record: RunRecord,
  o: { output: Output; signal: AbortSignal },
): Promise<RunResult> {
  const { config } = setup;
  const { output, signal } = o;
  const evals = new RunEvals(setup, record, o);
  const last = listCheckpoints(record.folder).at(-1);
  let state: RunState = last
    ? loadCheckpoint(last.path, setup.start)
    : { phase: "sft", step: 0, policy: setup.start, adam: adamStart(setup.start.trainable) };
  if (last) output.line(`continuing from ${last.phase} step ${last.step}`);
  record.rollBack(state);
  setup.score.keepIn?.(record.folder.path);
  setup.watch.auditor?.keepIn(record.folder.path);
  const ended = (status: RunResult["status"]): RunResult => ({
    status,
    evals: evals.all,
    weightsSha256: weightsSha256(state.policy),
    steps: state.phase === "rl" ? state.step : 0,
  });
  const over = () => trainingOver(config.rl, state.step, record.db.metrics);

  if (state.phase === "sft") {
    for await (const next of imitate(setup, record, state, o)) state = next;
    if (signal.aborted && state.step < sftSteps(config.sft)) return ended("interrupted");
    // RL starts from version 0 with a fresh optimiser; its checkpoint is the reference of KL and of every comparison.
    const policy = { ...state.policy, version: 0 };
    state = { phase: "rl", step: 0, policy, adam: adamStart(policy.trainable) };
    await record.checkpoint(state);
  }

  const learner = rlLearner(setup, state);
  const player = config.endpoint
    ? await remotePlayer(setup, { ...o, learner, record })
    : policyPlayer(setup, state.policy);
  try {
    const interventions = new Interventions(setup, record, { evals, output });
    await evals.at(state, player);
    if (!over() && !signal.aborted)
      for await (const next of reinforce(setup, record, state, {
        ...o,
        learner,
        player,
        evals,
        interventions,
      }))
        state = next;
  } catch (error) {
    // An evaluation stops where it is when asked to; what it had is on disk, and so is the policy it was of.
    if (!(signal.aborted && isAbort(error, signal))) throw error;
  } finally {
    await player.close();
  }
  const whole = over() && evals.complete(state.step);
  return ended(whole ? "done" : "interrupted");
}

const isAbort = (error: unknown, signal: AbortSignal) =>
  error === signal.reason || (error as Error)?.name === "AbortError";

/** The supervised warm-up from where `from` stands; an abort ends it after the step in hand, with that step saved. */
async function* imitate(
  setup: Setup,
  record: RunRecord,
  from: RunState,
  { output, signal }: { output: Output; signal: AbortSignal },
): AsyncGenerator<RunState> {
  const { sft, track } = setup.config;
  const total = sftSteps(sft);
  if (from.step >= total) return;
  const shows = { ratio: false, reference: false };
  for (const line of legend("sft", shows)) output.line(line);
  const bar = output.progress("warm-up", total, from.step);
  const saveEvery = Math.max(track.saveEvery, Math.ceil(total / 20));
  const sayEvery = Math.max(1, Math.round(total / 40));
  for await (const { metrics, ...state } of warmUp(setup, from)) {
    const { step } = state;
    record.commit({ phase: "sft", step, metrics, trajectories: [] });
    output.event("step", { phase: "sft", step, ...metrics });
    if (step % sayEvery === 0 || step === total) output.line(stepLine("sft", step, total, metrics, shows));
    bar.tick();
    const stop = signal.aborted;
    if (stop || step % saveEvery === 0) await record.checkpoint(state);
    yield state;
    if (stop) break;
  }
  bar.done();
}
