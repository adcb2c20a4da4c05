import { ConfigError } from "../../core/errors.ts";
import type { ListCurriculum } from "../config.ts";
import { easyPlace, easyShare, type HopMix } from "../curriculum.ts";
import type { FamilyConfig } from "./config.ts";
import { type NamedFamily, openFamily } from "./families.ts";

/** Opens the family that a config names. `search` is none of them: it is the world. */
export function familyOf(config: FamilyConfig & { readonly family: NamedFamily["kind"] }): NamedFamily {
  const { family, seed, passages, sentences, numbers } = config;
  return openFamily(family, seed, { passages, sentences, numbers });
}

/** The world's hop mix of a difficulty. @throws ConfigError past three hops */
export function hopMixOf(difficulty: readonly number[]): HopMix {
  const odd = difficulty.find((level) => level > 3);
  if (odd !== undefined)
    throw new ConfigError({
      where: "difficulty",
      what: "search has no such difficulty",
      got: String(odd),
      expected: "levels from 1 to 3",
    });
  const weight = (hops: number) => (difficulty.includes(hops) ? 1 : 0);
  return { 1: weight(1), 2: weight(2), 3: weight(3) };
}

/** Weights of the levels at a step, [level − 1]. `harder` is the share that is to be of the highest level. */
export type LevelMix = (step: number, harder?: number) => readonly number[];

/**
 * As much of each level; easy ones first where asked, and more of the hardest where a run's guide says so.
 * @param steps of the whole run
 * @throws ConfigError where easy tasks come first and no level is easy
 */
export function levelMix(
  difficulty: readonly number[],
  { easyFirst, steps }: Pick<ListCurriculum, "easyFirst"> & { readonly steps: number },
): LevelMix {
  const levels = [...new Set(difficulty)];
  const most = Math.max(...levels);
  const easy = levels.filter((level) => easyFirst?.hops.includes(level));
  if (easyFirst && easy.length === 0)
    throw new ConfigError({
      where: "data.train.easyFirst.hops",
      what: "no level is easy",
      got: easyFirst.hops.join(", "),
      expected: `some of ${levels.join(", ")}`,
    });
  const place = easyFirst && easyPlace(easyFirst, steps);
  return (step, harder = 0) => {
    const first = place ? easyShare(place, step) : 0;
    return Array.from({ length: most }, (_, i) => {
      const level = i + 1;
      const even = levels.includes(level) ? 1 / levels.length : 0;
      const later = (1 - harder) * even + (level === most ? harder : 0);
      return (1 - first) * later + (easy.includes(level) ? first / easy.length : 0);
    });
  };
}
