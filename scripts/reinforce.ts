import type { Config } from "../configs/schema.ts";
import { algorithmOf } from "../rl/config.ts";
import { createLearner, type Learner } from "../rl/learner.ts";
import { adapterHashes } from "../rl/policy/adapters.ts";
import { loadCheckpoint, type RunState } from "../rl/run-checkpoint.ts";
import { train } from "../rl/step.ts";
import { tokenKinds } from "../rl/token-kinds.ts";
import { alarmsOf } from "../track/alarms.ts";
import { legend, type Shows, stepLine } from "../track/console.ts";
import { checkpointPath } from "../track/run-folder.ts";
import type { Interventions } from "./interventions.ts";
import type { Output } from "./output.ts";
import type { PolicyPlayer } from "./policy-player.ts";
import type { RunEvals } from "./run-evals.ts";
import type { RunRecord } from "./run-record.ts";
import type { Setup } from "./setup.ts";
import { teamOf } from "./team.ts";
import { teamLearning } from "./team-adapters.ts";
import { trainingOver } from "./training-end.ts";

/** The learner of a run's RL phase, where `state` stands. */
export function rlLearner({ engine, config: { rl } }: Setup, { policy, adam }: RunState): Learner {
  return createLearner({
    engine,
    policy,
    loss: { ...algorithmOf(rl), entropyCoefficient: rl.entropyCoefficient },
    optimizer: rl.optimizer,
    slots: rl.slots,
    ...(adam.step > 0 ? { state: adam } : {}),
  });
}

/**
 * RL from where `from` stands to the last step. Yields the state after each step, once it is recorded, saved where that
 * was due, and evaluated where that was due. An abort ends it after the step in hand, with that step saved.
 */
export async function* reinforce(
  setup: Setup,
  record: RunRecord,
  from: RunState,
  o: {
    output: Output;
    signal: AbortSignal;
    learner: Learner;
    player: PolicyPlayer;
    evals: RunEvals;
    interventions: Interventions;
  },
): AsyncGenerator<RunState> {
  const { config, tokenizer } = setup;
  const { output, signal, player, evals, interventions } = o;
  const { rl, rollout, track } = config;
  const algorithm = algorithmOf(rl);
  const team = teamLearning(config, from.stage);
  const stageOf = () => (rl.team && team ? { stage: team.stages.state } : {});
  let { learner } = o;
  interventions.evaluated(from.step);
  await player.publish(learner.policy);
  const lengths = new Map<number, number>();
  const movedOn = algorithm.kl !== "none" && from.step > 0;
  // The KL term is taken to the policy as RL began.
  const reference = movedOn
    ? loadCheckpoint(checkpointPath(record.folder, "rl", 0), setup.start).policy
    : from.policy;
  const shows = showsOf(setup);
  tellAlgorithm(setup, shows, output);
  for (const line of legend("rl", shows)) output.line(line);
  const bar = output.progress("training with evaluations", rl.steps, from.step);
  const trainFrom = (step: number) =>
    train(
      {
        config: rl,
        algorithm,
        seed: config.run.seed,
        tasksPerStep: rollout.tasksPerStep,
        refillBatches: rollout.refillBatches,
        source: interventions.source,
        roll: player.train,
        score: interventions.score,
        watch: setup.watch,
        learner,
        reference: reference.trainable,
        publish: player.publish,
        ...(player.remote ? { remote: player.remote } : {}),
        ...interventions.hooks,
        ...(team ? { team } : {}),
        kinds: (segment) => tokenKinds(segment, tokenizer, lengths),
        clock: () => performance.now() / 1e3,
      },
      step,
      rl.steps,
    );
  /** Who learns from here on, and the fingerprint of everybody: whoever is frozen keeps it. */
  const tellStage = (index: number, { step, policy }: Pick<RunState, "step" | "policy">) => {
    const learn = rl.team!.stages[index]!.learn;
    record.db.event("rl", step, "stage", { index, learn, sha256: adapterHashes(policy) });
    output.line(`from step ${step + 1} on learn: ${learn.join(", ")}`);
  };
  if (from.step === 0 && team && (rl.team?.stages.length ?? 0) > 0) tellStage(team.stages.state.index, from);
  /** The steps; begun anew behind one after which another learner took over. */
  const steps = async function* () {
    for (let at = from.step; at < rl.steps; ) {
      const by = learner;
      for await (const report of trainFrom(at)) {
        yield report;
        at = report.step;
        if (learner !== by && report.failure === undefined) break;
      }
    }
  };
  const earlier = record.db.metrics().flatMap((each) => (each.phase === "rl" ? [each.metrics] : []));
  let raised = new Set<string>();
  for await (const report of steps()) {
    const { step, metrics, trajectories, failure, events = [] } = report;
    const reached: RunState = {
      ...{ phase: "rl", step, policy: learner.policy, adam: learner.optimizer },
      ...stageOf(),
    };
    const alarms = alarmsOf(metrics, track.alarms, { earlier, searches: mostSearches(config) });
    earlier.push(metrics);
    record.commit({ phase: "rl", step, metrics, trajectories });
    record.db.event("rl", step, "alarm", ...alarms);
    for (const { name, data } of events) record.db.event("rl", step, name, data);
    if (report.stage !== undefined) tellStage(report.stage, reached);
    const state = interventions.stepped(report, reached);
    if (state !== reached) learner = rlLearner(setup, state);
    output.line(stepLine("rl", step, rl.steps, metrics, shows));
    output.event("step", { phase: "rl", step, ...metrics });
    // An alarm is told when it begins; run.db has it for every step.
    for (const alarm of alarms) if (!raised.has(subject(alarm))) output.warn(`step ${step}: ${alarm}`);
    raised = new Set(alarms.map(subject));
    bar.tick();
    const stop = signal.aborted;
    const over = trainingOver(rl, step, record.db.metrics);
    // A failure ends the run at the next step: what was learnt is saved first.
    if (stop || failure !== undefined || evals.due(step) || step % track.saveEvery === 0 || over)
      await record.checkpoint(state, evals.best());
    yield state;
    if (stop) break;
    if (failure !== undefined) continue;
    if (state !== reached) await player.publish(learner.policy);
    await evals.at(state, player);
    interventions.evaluated(step);
    if (over) break;
  }
  bar.done();
}

/** Most searches that an episode, or a call of a role, may make: the last turn is for what is found. */
const mostSearches = ({ env }: Config): number | undefined =>
  env.name === "team"
    ? teamOf({ env }).callTurns - 1
    : env.name === "researcher"
      ? env.maxTurns - 1
      : undefined;

const subject = (alarm: string) => alarm.split(" ")[0] as string;

/** Which columns its steps can fill with more than zeros. */
const showsOf = ({ config: { rl } }: Setup): Shows => ({
  ratio: rl.updatesPerStep > 1 || rl.maxStaleness > 0,
  reference: algorithmOf(rl).kl !== "none",
});

function tellAlgorithm({ config: { rl } }: Setup, { ratio }: Shows, output: Output): void {
  const { surrogate, advantage, filter, filterMetric } = algorithmOf(rl);
  if (!ratio && surrogate !== "reinforce") output.line("one update a step: the ratio is 1 and clipping idle");
  if (advantage === "grpo" && filter === "spread" && filterMetric === "reward")
    output.warn(
      "std-normalised advantages with groups filtered on the reward: a group that differs by the 0.1 of a tag learns as loudly as right against wrong (rl.filterMetric: exactMatch avoids it)",
    );
}
