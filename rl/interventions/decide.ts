import type { PresetName } from "../presets.ts";
import type { InterventionsConfig, RuleName } from "./config.ts";
import { mean, type Rule, rules, type Signal } from "./rules.ts";
import {
  type Intervention,
  type InterventionState,
  type Observation,
  type RuleState,
  type StepPoint,
  withAction,
} from "./state.ts";

/** A rule as the engine handles it, whatever its thresholds are called. */
interface Placed {
  readonly name: RuleName;
  readonly rule: Rule<{ when: unknown; act: unknown }>;
  readonly when: { readonly rearm: number };
  readonly act: unknown;
  readonly cooldownSteps: number;
}

const placedOf = (config: InterventionsConfig): Placed[] =>
  (Object.keys(rules) as RuleName[]).flatMap((name) => {
    const own = config[name];
    return own ? [{ name, rule: rules[name] as Placed["rule"], ...own }] : [];
  });

/** The rules with what their defaults owe to the algorithm: o-researcher restarts at 5e-7 where no rate is named. */
export function rulesOf(interventions: InterventionsConfig, preset: PresetName): InterventionsConfig {
  const { stableRestart } = interventions;
  if (!stableRestart) return interventions;
  const { act } = stableRestart;
  const named = act.learningRate !== undefined || act.learningRateFactor !== undefined;
  const learningRate = named || preset !== "o-researcher" ? act.learningRate : 5e-7;
  const learningRateFactor = act.learningRateFactor ?? (learningRate === undefined ? 0.5 : 1);
  const resolved = { ...act, learningRateFactor, ...(learningRate === undefined ? {} : { learningRate }) };
  return { ...interventions, stableRestart: { ...stableRestart, act: resolved } };
}

/**
 * What the rules make of one more observation. Pure: folded over what a run recorded, in order, it gives the state that
 * the run had, so a resumed run decides as one that was never stopped.
 */
export function decide(
  config: InterventionsConfig,
  state: InterventionState,
  seen: Observation,
): { readonly state: InterventionState; readonly fired: readonly Intervention[] } {
  const fired: Intervention[] = [];
  let now = take(config, state, seen);
  for (const placed of placedOf(config)) {
    if (placed.rule.after !== seen.kind) continue;
    const signal = placed.rule.signal(placed.when, now);
    const rule = armedBy(placed, now.rules[placed.name], signal, seen.step);
    now = { ...now, rules: { ...now.rules, [placed.name]: rule } };
    if (!rule.armed || signal === undefined || signal.level < 1) continue;
    const actions = placed.rule.act(placed.act, now, seen.step);
    fired.push({ rule: placed.name, step: seen.step, evidence: signal.evidence, actions });
    const times = rule.times + 1;
    now = {
      ...afterwards(now, actions),
      rules: { ...now.rules, [placed.name]: { armed: false, times, at: seen.step } },
      effects: actions.reduce(withAction, now.effects),
    };
  }
  return { state: now, fired };
}

/** Hysteresis: a rule that acted is armed again once its cooldown is over and its signal has come down. */
function armedBy(
  { when, cooldownSteps }: Placed,
  rule: RuleState = { armed: true, times: 0 },
  signal: Signal | undefined,
  step: number,
): RuleState {
  if (rule.armed) return rule;
  const cool = step - (rule.at ?? 0) > cooldownSteps;
  return cool && signal !== undefined && signal.level <= when.rearm ? { ...rule, armed: true } : rule;
}

/** The state with the observation in it, before any rule has looked. */
function take(config: InterventionsConfig, state: InterventionState, seen: Observation): InterventionState {
  if (seen.kind === "evaluation") {
    // Rewards under earlier weights cannot be compared with those under the present ones.
    const reweighed = state.rules.processWeight?.at ?? 0;
    const rewards = state.steps
      .filter(({ step }) => step > reweighed)
      .slice(-(config.processWeight?.when.window ?? 1))
      .flatMap(({ metrics }) => metrics.reward ?? []);
    const reward = rewards.length === 0 ? {} : { reward: mean(rewards) };
    const back = config.processWeight?.when.evaluations ?? 0;
    const evaluations = [...state.evaluations, { step: seen.step, em: seen.em, ...reward }];
    return { ...state, evaluations: evaluations.slice(-1 - back) };
  }
  const most = Math.max(1, ...placedOf(config).map(({ rule, when }) => rule.looksBack(when)));
  const steps: StepPoint[] = [...state.steps, { step: seen.step, metrics: seen.metrics }].slice(-most);
  return settle(config, { ...state, steps }, seen);
}

/** Which checkpoint is stable. A step's failures say something of the checkpoints before it, not of its own. */
function settle(
  { stableRestart }: InterventionsConfig,
  state: InterventionState,
  { step, saved }: { step: number; saved: boolean },
): InterventionState {
  if (!stableRestart) return state;
  const { when } = stableRestart;
  const level = rules.stableRestart.signal(when, state)?.level ?? 0;
  if (level > when.rearm) return { ...state, candidates: [] };
  const waiting = state.candidates.map((each) => ({ ...each, quiet: each.quiet + 1 }));
  const stable = waiting.findLast(({ quiet }) => quiet >= when.stableSteps)?.step ?? state.stable;
  const candidates = waiting.filter((each) => each.step > stable);
  return { ...state, stable, candidates: saved ? [...candidates, { step, quiet: 0 }] : candidates };
}

/** The state without what these actions put an end to. */
function afterwards(state: InterventionState, actions: Intervention["actions"]): InterventionState {
  let now = state;
  for (const action of actions) {
    if (action.do === "weights") now = { ...now, evaluations: [] };
    if (action.do !== "restart") continue;
    // What came after the checkpoint was said of weights that are gone.
    const stands = ({ step }: { readonly step: number }) => step <= action.from;
    now = {
      ...now,
      steps: now.steps.filter(stands),
      evaluations: now.evaluations.filter(stands),
      candidates: [],
    };
  }
  return now;
}
