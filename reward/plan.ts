import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { type RewardConfig, weightsOf } from "./config.ts";
import type { PartOptions } from "./part-options.ts";
import { basicParts, mean, type Need, type Part, type PartRow, partNames, simpleParts } from "./parts.ts";
import { type RewardPreset, rewardPresetOf } from "./presets.ts";
import { partsOf, type Weighing } from "./weigh.ts";

/** A part of the user's own (`defineForager({ rewards })`): it sees the trajectory, the judged answer and whether it is right. */
export type OwnPart = (
  trajectory: Trajectory,
  judged: { readonly prediction?: string; readonly exactMatch: number },
) => number;

/** What a reward computes, and how it weighs it. */
export interface Plan {
  /** Parts to compute, in this order. */
  readonly parts: readonly (readonly [string, Part])[];
  /** Is the judge among them? */
  readonly judged: boolean;
  /** What those parts need of the environment and the questions, each with the part that asks. */
  readonly needs: ReadonlyMap<Need, string>;
  readonly weighing: Weighing;
  readonly options: PartOptions;
}

/** @throws ConfigError for a name without a part, or an own part under one of our names */
export function planOf(config: RewardConfig, own: Readonly<Record<string, OwnPart>> = {}): Plan {
  const preset = presetOf(config);
  const rows = rowsOf(config, own);
  const gates = Object.entries(config.gates ?? {}).flatMap(([name, { only = [], unless = [] }]) => [
    ...[name, ...only, ...unless],
  ]);
  const named = [...partsOf(preset), ...gates, ...config.keep];
  for (const name of named) if (name !== "judge") checkName(name, rows, whereOf(name, config));
  const ingredients: Record<string, readonly string[]> = {
    process: config.process.of,
    repetition: config.repetition.of,
    teamProcess: [...config.team.process.of, "freshPlan"],
  };
  const wanted = [...partsOf(preset), ...config.keep].flatMap((name) => [...(ingredients[name] ?? []), name]);
  const names = [...new Set([...Object.keys(basicParts), ...Object.keys(own), ...wanted])];
  const simple = names.filter((name) => name !== "judge");
  return {
    parts: simple.map((name) => [name, (rows[name] as PartRow).of]),
    judged: names.includes("judge"),
    needs: new Map(simple.flatMap((name) => (rows[name]?.needs ?? []).map((need) => [need, name] as const))),
    weighing: preset,
    options: {
      format: { ...preset.format, ...config.format },
      ngram: config.repetition.ngram,
      freeSearches: config.searchCost.free,
      maxTokens: config.length.maxTokens,
      bufferTokens: config.length.bufferTokens,
      team: {
        process: config.team.process.of,
        freeRevisions: config.team.revisions.free,
        revisionCost: config.team.revisions.cost,
        samePlanDecay: config.team.samePlan.decay,
      },
    },
  };
}

/** Every part by name: ours, those made of others, the user's. */
function rowsOf(config: RewardConfig, own: Readonly<Record<string, OwnPart>>): Record<string, PartRow> {
  const ours: Record<string, PartRow> = simpleParts;
  const meanOf =
    (names: readonly string[]): Part =>
    (facts, options) =>
      mean(names.map((name) => (ours[name] as PartRow).of(facts, options)));
  const rows: Record<string, PartRow> = {
    ...ours,
    process: { of: meanOf(config.process.of) },
    repetition: { of: meanOf(config.repetition.of) },
  };
  for (const [name, part] of Object.entries(own)) {
    if (partNames.includes(name))
      throw new ConfigError({
        what: `reward part \`${name}\` is Forager's own`,
        next: "Give yours another name.",
      });
    rows[name] = {
      of: ({ trajectory, prediction, scores: { em: exactMatch } }) =>
        part(trajectory, prediction === undefined ? { exactMatch } : { prediction, exactMatch }),
    };
  }
  return rows;
}

/** The preset's row with the YAML's own keys on top. */
function presetOf({ preset, weights, gates, combination, maxDivisor }: RewardConfig): RewardPreset {
  const row = rewardPresetOf(preset);
  return {
    weights: weightsOf({ preset, weights }),
    gates: required(gates ?? row.gates, weightsOf({ preset, weights }), row.requires ?? []),
    combination: combination ?? row.combination,
    maxDivisor: maxDivisor ?? row.maxDivisor,
    format: row.format,
  };
}

/** Gates of every part that has a weight, with what the preset requires of all. */
function required(
  gates: RewardPreset["gates"],
  weights: RewardPreset["weights"],
  requires: readonly string[],
): RewardPreset["gates"] {
  if (requires.length === 0) return gates;
  const each = Object.keys(weights).map((name) => {
    const only = [...(gates[name]?.only ?? []), ...requires];
    return [name, { ...gates[name], only }] as const;
  });
  return { ...gates, ...Object.fromEntries(each) };
}

const whereOf = (name: string, { weights, keep }: RewardConfig) =>
  Object.hasOwn(weights ?? {}, name)
    ? `reward.weights.${name}`
    : keep.includes(name)
      ? "reward.keep"
      : "reward.gates";

function checkName(name: string, rows: Readonly<Record<string, PartRow>>, where: string): void {
  if (Object.hasOwn(rows, name)) return;
  const known = [...Object.keys(rows), "judge"];
  const close = nearest(name, known);
  throw new ConfigError({
    what: `unknown reward part \`${name}\``,
    where,
    expected: `one of ${known.join(", ")}`,
    ...(close === undefined ? {} : { next: `Did you mean \`${close}\`?` }),
  });
}
