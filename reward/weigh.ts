import { RewardError } from "../core/errors.ts";
import { combinations, type RewardPreset, scheduleShapes, type Weight } from "./presets.ts";

/** How raw parts become the reward. */
export type Weighing = Pick<RewardPreset, "weights" | "gates" | "combination" | "maxDivisor">;

/** Raw values of one episode's parts. */
export type RawParts = Readonly<Record<string, number>>;

/** A part's weight after `step` updates. */
export function weightAt(weight: Weight, step: number): number {
  if (typeof weight === "number") return weight;
  const { from, to, start, steps, shape } = weight;
  const share = steps === 0 ? Number(step >= start) : Math.max(0, Math.min(1, (step - start) / steps));
  return from + (to - from) * scheduleShapes[shape](share);
}

/** What the weights of some parts are multiplied by. */
export type WeightFactors = Readonly<Record<string, number>>;

/** The same with some weights multiplied, schedules as a whole; parts that do not count are passed over. */
export function reweighed(weighing: Weighing, factors: WeightFactors): Weighing {
  const times = (weight: Weight, by: number): Weight =>
    typeof weight === "number" ? weight * by : { ...weight, from: weight.from * by, to: weight.to * by };
  const weights = Object.entries(weighing.weights).map(([name, weight]) => [
    name,
    Object.hasOwn(factors, name) ? times(weight, factors[name] as number) : weight,
  ]);
  return { ...weighing, weights: Object.fromEntries(weights) as Weighing["weights"] };
}

/** Every part whose raw value decides something. */
export function partsOf({ weights, gates }: Weighing): string[] {
  const asked = Object.keys(weights).flatMap((name) => [
    name,
    ...(gates[name]?.only ?? []),
    ...(gates[name]?.unless ?? []),
  ]);
  return [...new Set(asked)];
}

/**
 * The reward of one episode: `combination` of weight × value over the parts whose gate is open, divided by the number of
 * answers, at most by `maxDivisor`.
 * @param step updates made so far, for weights that move
 * @param where names the episode in an error
 * @throws RewardError when the result is not a finite number
 */
export function weigh(
  raw: RawParts,
  weighing: Weighing,
  step: number,
  where: string | (() => string),
): number {
  const earned: number[] = [];
  for (const name in weighing.weights)
    earned.push(weightAt(weighing.weights[name] as Weight, step) * counted(raw, name, weighing));
  const reward = combinations[weighing.combination](earned) / divisorOf(raw, weighing);
  if (Number.isFinite(reward)) return reward;
  throw new RewardError({
    what: "the reward is not a finite number",
    where: typeof where === "string" ? where : where(),
    got: JSON.stringify(raw, (_, value: unknown) => (typeof value === "number" ? String(value) : value)),
  });
}

/**
 * Rewards of a group under `gdpo`, [G]: each part's counted values, divided as in `weigh`, become z-scores within the
 * group (unbiased standard deviation + 1e-6; 0 for a part that does not vary), then weight × z is summed over the parts.
 * So a part's say depends on its weight alone, not on how far its values lie apart. Members keep their rewards in
 * whatever order they come.
 * @throws RewardError as in `weigh`
 */
export function weighGroup(
  raws: readonly RawParts[],
  weighing: Weighing,
  step: number,
  where: string,
): number[] {
  const rewards = raws.map((raw) => {
    weigh(raw, weighing, step, where);
    return 0;
  });
  for (const [name, weight] of Object.entries(weighing.weights)) {
    const now = weightAt(weight, step);
    const scores = zScores(raws.map((raw) => counted(raw, name, weighing) / divisorOf(raw, weighing)));
    scores.forEach((z, i) => {
      (rewards[i] as number) += now * z;
    });
  }
  return rewards;
}

/** A part's value, or 0 while its gate is shut. */
function counted(raw: RawParts, name: string, { gates }: Weighing): number {
  const gate = gates[name];
  if (gate === undefined) return raw[name] ?? Number.NaN;
  const { only = [], unless = [] } = gate;
  const open = only.every((gate) => raw[gate] === 1) && !unless.some((gate) => raw[gate] === 1);
  return open ? (raw[name] ?? Number.NaN) : 0;
}

const divisorOf = (raw: RawParts, { maxDivisor }: Weighing) =>
  Math.max(1, Math.min(raw.answers ?? 0, maxDivisor));

/** Values closer together than this do not vary: SkyRL's tolerance, the same as the filter's. */
const tolerance = 1e-6;

function zScores(values: readonly number[]): number[] {
  // Sorted first: rounded sums depend on the order, and rewards must not depend on the members' places.
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  if (n < 2 || (sorted[n - 1] as number) - (sorted[0] as number) <= tolerance) return values.map(() => 0);
  const mean = sorted.reduce((sum, value) => sum + value, 0) / n;
  const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  return values.map((value) => (value - mean) / (Math.sqrt(variance) + 1e-6));
}
