import { join } from "node:path";
import { z } from "zod";
import { load } from "../configs/load.ts";
import { type Config, configSchema } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import { checkNeeds, checkTurnCredit, type Ground, lacksOf } from "../reward/check-needs.ts";
import { type RewardConfig, rewardConfig } from "../reward/config.ts";
import { partNames } from "../reward/parts.ts";
import { type OwnPart, type Plan, planOf } from "../reward/plan.ts";
import type { Scorer } from "../reward/scored.ts";
import { makeScorer } from "../reward/scorer.ts";
import { partsOf } from "../reward/weigh.ts";
import { algorithmOf, type RlConfig, rlConfig } from "../rl/config.ts";
import { scorerOf } from "../rl/overlong.ts";
import type { Algorithm } from "../rl/presets.ts";

/** A reward, with what learns from it. */
export interface RewardFile {
  readonly reward: RewardConfig;
  readonly rl: RlConfig;
}

/** A file that has `reward`, perhaps `rl`, and perhaps every other section of a config, which are not looked at. */
const fileSchema = z.strictObject({
  ...Object.fromEntries(Object.keys(configSchema.shape).map((name) => [name, z.unknown().optional()])),
  reward: rewardConfig.prefault({}),
  rl: rlConfig.optional(),
});

/**
 * The reward to score by: of a file (where `rl` is absent, the run's own), or without one the run's own; with overrides.
 * @throws ConfigError
 */
export function loadReward(
  path: string | undefined,
  overrides: readonly string[],
  run: { readonly folder: string; readonly config: Config },
): RewardFile {
  const { config } = load(path ?? join(run.folder, "config.yaml"), overrides, fileSchema);
  return { reward: config.reward, rl: config.rl ?? run.config.rl };
}

/** A reward made ready to score stored episodes. */
export interface Remade {
  readonly plan: Plan;
  /** Parts that decide something. */
  readonly counting: readonly string[];
  readonly algorithm: Algorithm;
  readonly rl: RlConfig;
  /** As training scores: with the punishment of `overlong: penalty`, and with what turns are worth. */
  readonly train: Scorer;
  /** As evaluations do. */
  readonly plain: Scorer;
}

/** @throws ConfigError for a part that there is not, or that the run's episodes cannot give */
export function remake(
  { reward, rl }: RewardFile,
  run: Config,
  own: Readonly<Record<string, OwnPart>>,
): Remade {
  const algorithm = algorithmOf(rl);
  const { filterMetric } = algorithm;
  checkMetric(filterMetric, ["reward", ...partNames, ...Object.keys(own)]);
  const kept = filterMetric === "reward" ? reward : { ...reward, keep: [...reward.keep, filterMetric] };
  const plan = planOf(kept, own);
  const ground: Ground = {
    environment: run.env.name,
    lacks: lacksOf(run.env.name),
    questions: [], // ids of gold passages are asked of each stored group
  };
  checkNeeds(plan, ground);
  if (rl.turnCredit > 0) checkTurnCredit(ground);
  const plain = makeScorer(kept, own);
  const counting = [...partsOf(plan.weighing), ...(rl.overlong === "penalty" ? ["overlong"] : [])];
  return { plan, counting, algorithm, rl, plain, train: scorerOf({ score: plain, config: rl }) };
}

/** Parts that decide something under the run's own reward; none where a part of the user's own is not at hand. */
export function countingOf(config: Config, own: Readonly<Record<string, OwnPart>>): readonly string[] {
  try {
    return partsOf(planOf(config.reward, own).weighing);
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}

function checkMetric(metric: string, names: readonly string[]): void {
  if (names.includes(metric)) return;
  const close = nearest(metric, names);
  throw new ConfigError({
    what: `there is no reward part \`${metric}\` to filter on`,
    where: "rl.filterMetric",
    expected: `one of ${names.join(", ")}`,
    next: close ? `Did you mean \`${close}\`?` : "Name one of these.",
  });
}

/** "advantage drGrpo, filter spread on reward", for people. */
export function algorithmName(rl: RlConfig): string {
  const { advantage, filter, filterMetric } = algorithmOf(rl);
  const credit = rl.turnCredit > 0 ? `, turn credit ${rl.turnCredit}` : "";
  return `advantage ${advantage}, filter ${filter}${filter === "spread" ? ` on ${filterMetric}` : ""}${credit}`;
}
