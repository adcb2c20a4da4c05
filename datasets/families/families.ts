import { type ArithmeticOptions, arithmeticFamily } from "./arithmetic/arithmetic.ts";
import { debuggingFamily } from "./debugging/debugging.ts";
import { type SynthesisOptions, synthesisFamily } from "./synthesis/synthesis.ts";

/** What can be set of some family; the others pass it over. */
export type FamilyOptions = ArithmeticOptions & SynthesisOptions;

/** Families of generated tasks by name. The synthetic world is the family of search questions (`world.ts`). */
export const families = {
  arithmetic: (seed: number, options?: FamilyOptions) => arithmeticFamily(seed, options),
  debugging: (seed: number) => debuggingFamily(seed),
  synthesis: (seed: number, options?: FamilyOptions) => synthesisFamily(seed, options),
} as const;

export type FamilyName = keyof typeof families;

type MadeFamily<N extends FamilyName> = ReturnType<(typeof families)[N]>;
/** A family together with its name, so that its problems can be told by it. */
export type NamedFamily = {
  [N in FamilyName]: { readonly kind: N; readonly family: MadeFamily<N> };
}[FamilyName];

export function openFamily(kind: FamilyName, seed: number, options?: FamilyOptions): NamedFamily {
  const made = { kind, family: families[kind](seed, options) };
  return made as NamedFamily;
}
