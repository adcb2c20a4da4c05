import { createHash } from "node:crypto";
import type { RewardConfig } from "./config.ts";
import { judgeVersion } from "./judge-prompt.ts";
import type { Plan } from "./plan.ts";

export type Identity = Readonly<Record<string, string | number | boolean>>;

/** Sections of the config that change what these parts are. */
const sections: Readonly<Record<string, readonly string[]>> = {
  format: ["format", "formatPenalty"],
  process: ["process"],
  repetition: ["repetition", "repeatedNgrams"],
  searchCost: ["searchCost"],
  length: ["length"],
  team: ["teamProcess", "fewRevisions", "freshPlan"],
};

/** Is this key of an identity one that values of the part depend on? `reward` depends on all of them. */
export function shapesPart(key: string, part: string): boolean {
  const [of, section = ""] = key.split(".");
  if (of === "judge") return part === "judge" || part === "reward";
  return of === "reward" && (part === "reward" || (sections[section] ?? []).includes(part));
}

/**
 * What a scorer's numbers depend on beyond the normaliser and the extraction: `judge.…` says who judged by what, and
 * `reward.…` how the parts become a reward, as it is in effect, not as it was written. Address, key, cache and limits of a
 * judge change no verdict, and are not in it. Of a part of the user's own only its name is known.
 */
export function scorerIdentity(config: RewardConfig, { weighing, options, parts, judged }: Plan): Identity {
  const { weights, gates, combination, maxDivisor } = weighing;
  const computed = new Set(parts.map(([name]) => name));
  const settings: Readonly<Record<string, unknown>> = {
    format: options.format,
    process: config.process,
    repetition: config.repetition,
    searchCost: config.searchCost,
    length: config.length,
    team: { process: config.team.process, revisions: config.team.revisions, samePlan: config.team.samePlan },
  };
  const used = Object.entries(settings).filter(([name]) =>
    sections[name]?.some((part) => computed.has(part)),
  );
  return {
    ...(judged && config.judge ? flat("judge", judgeIdentity(config.judge)) : {}),
    ...flat("reward", { combination, maxDivisor, weights, gates, ...Object.fromEntries(used) }),
  };
}

const judgeIdentity = ({ model, rubric, marks, sees, temperature }: NonNullable<RewardConfig["judge"]>) => ({
  ...{ model, rubric: createHash("sha256").update(rubric).digest("hex").slice(0, 12) },
  ...{ marks, sees, temperature, version: judgeVersion },
});

/** Nested settings as one level of dotted keys, in the order of names; lists as text. */
function flat(name: string, value: unknown): Record<string, string | number | boolean> {
  if (value === undefined || value === null) return {};
  if (Array.isArray(value)) return { [name]: value.join(", ") };
  if (typeof value === "object")
    return Object.assign(
      {},
      ...Object.entries(value)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, each]) => flat(`${name}.${key}`, each)),
    );
  return { [name]: value as string | number | boolean };
}
