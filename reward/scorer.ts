import { ConfigError, RewardError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import { isPolicyOutcome, type Trajectory } from "../rollout/trajectory.ts";
import type { RewardConfig } from "./config.ts";
import { normalizerOf } from "./normalize.ts";
import { factsOf, type Part, parts } from "./parts.ts";
import { combinations, type RewardPreset, rewardPresets } from "./presets.ts";
import type { Scored, Scorer } from "./scored.ts";

/** A part of the user's own (`defineForager({ rewards })`): it sees the trajectory and the judged answer. */
export type OwnPart = (trajectory: Trajectory, judged: { readonly prediction?: string }) => number;

/**
 * Builds the scorer of a run. All parts are computed and kept raw; those with a weight make the reward.
 * @throws ConfigError for a weight without a part, or an own part under one of our names.
 */
export function makeScorer(config: RewardConfig, own: Readonly<Record<string, OwnPart>> = {}): Scorer {
  const rows: Record<string, Part> = { ...parts };
  for (const [name, part] of Object.entries(own)) {
    if (Object.hasOwn(parts, name))
      throw new ConfigError({
        what: `reward part \`${name}\` is Forager's own`,
        next: "Give yours another name.",
      });
    rows[name] = ({ trajectory, prediction }) =>
      part(trajectory, prediction === undefined ? {} : { prediction });
  }
  const preset = presetOf(config);
  for (const name of Object.keys(preset.weights)) checkName(name, rows);
  const normalizer = normalizerOf(config.normalizer);
  return (trajectory): Scored => {
    checkScorable(trajectory);
    const facts = factsOf(trajectory, normalizer, config.extraction);
    if (facts.gold.answers.length === 0)
      throw new RewardError({
        what: "a question without gold cannot be scored",
        where: `task ${trajectory.task.id}`,
        next: "Read the questions with the reward's normaliser: it leaves such questions out and names them.",
      });
    const raw = Object.fromEntries(Object.entries(rows).map(([name, part]) => [name, part(facts)]));
    return {
      ...trajectory,
      parts: raw,
      reward: combine(raw, preset, trajectory),
      ...(facts.prediction === undefined ? {} : { prediction: facts.prediction }),
    };
  };
}

/** The preset's row with the YAML's own keys on top. */
function presetOf({ preset, weights, combination, maxDivisor }: RewardConfig): RewardPreset {
  const row: RewardPreset = rewardPresets[preset];
  return {
    weights: weights ?? row.weights,
    combination: combination ?? row.combination,
    maxDivisor: maxDivisor ?? row.maxDivisor,
  };
}

/** Weighs raw parts: `combination` of weight × value, divided by the number of answers, at most by `maxDivisor`. */
export function combine(
  raw: Readonly<Record<string, number>>,
  { weights, combination, maxDivisor }: RewardPreset,
  trajectory: Trajectory,
): number {
  const earned = Object.entries(weights).map(([name, weight]) => weight * (raw[name] ?? Number.NaN));
  const divisor = Math.max(1, Math.min(raw.answers ?? 0, maxDivisor));
  const reward = combinations[combination](earned) / divisor;
  if (Number.isFinite(reward)) return reward;
  throw new RewardError({
    what: "the reward is not a finite number",
    where: `task ${trajectory.task.id}, member ${trajectory.member}`,
    got: JSON.stringify(raw, (_, value: unknown) => (typeof value === "number" ? String(value) : value)),
  });
}

function checkName(name: string, rows: Readonly<Record<string, Part>>): void {
  if (Object.hasOwn(rows, name)) return;
  const close = nearest(name, Object.keys(rows));
  throw new ConfigError({
    what: `unknown reward part \`${name}\``,
    where: `reward.weights.${name}`,
    expected: `one of ${Object.keys(rows).join(", ")}`,
    ...(close === undefined ? {} : { next: `Did you mean \`${close}\`?` }),
  });
}

function checkScorable({ outcome, task, member }: Trajectory): void {
  if (isPolicyOutcome(outcome)) return;
  throw new RewardError({
    what: "an episode that ended by no doing of the policy has no reward",
    where: `task ${task.id}, member ${member}`,
    got: outcome,
  });
}
