import { ConfigError } from "../../core/errors.ts";
import { rng } from "../../core/rng.ts";
import { frameWords } from "./phrasings.ts";
import { relationNames } from "./relations.ts";

/** 12 consonants × 4 vowels. */
export const syllables: readonly string[] = [..."bdfgklmnrstz"].flatMap((consonant) =>
  [..."aeio"].map((vowel) => consonant + vowel),
);

const two = syllables.length ** 2;
const three = syllables.length ** 3;
const words = new Set<string>([...frameWords, ...relationNames]);

/** Names of two and three syllables: 48² + 48³, less those that are words ("name"). */
const usable = Array.from({ length: two + three }, (_, index) => index).filter(
  (index) => !words.has(nameOf(index)),
);
export const nameCapacity: number = usable.length;

/** The name with this index in the space of all names. */
export function nameOf(index: number): string {
  const length = index < two ? 2 : 3;
  let rest = index < two ? index : index - two;
  let name = "";
  for (let i = 0; i < length; i++) {
    name = syllables[rest % syllables.length] + name;
    rest = Math.floor(rest / syllables.length);
  }
  return name;
}

/**
 * Every usable name index once, in keyed random order: whoever takes disjoint slices gets unique names, and a
 * name's length says nothing about its place.
 */
export function nameOrder(seed: number): Int32Array {
  return permute(Int32Array.from(usable), seed, "names");
}

/** Shuffles in place (Fisher-Yates) and returns the array. */
export function permute(items: Int32Array, seed: number, ...path: (string | number)[]): Int32Array {
  const draw = rng(seed, ...path);
  for (let i = items.length - 1; i > 0; i--) {
    const j = draw.int(i + 1);
    const kept = items[i] as number;
    items[i] = items[j] as number;
    items[j] = kept;
  }
  return items;
}

/** @throws ConfigError when more names are asked for than there are. */
export function checkNames(wanted: number, available: number, clusters: number, where: string): void {
  if (wanted <= available) return;
  const most = Math.floor((available * clusters) / wanted);
  throw new ConfigError({
    where,
    what: "the world has too few names",
    got: `${clusters} clusters of ${wanted / clusters} entities = ${wanted} names`,
    expected: `at most ${available} names`,
    next: most > 0 ? `Ask for at most ${most} clusters.` : "Make the world itself smaller.",
  });
}
