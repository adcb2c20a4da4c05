import type { Rng } from "../../../core/rng.ts";
import type { Split } from "../../world.ts";
import { largest } from "../words.ts";
import { type Place, type Thing, things } from "./places.ts";

/** What is made of the numbers of several places. */
export type Combination =
  | { readonly kind: "sum" | "most" | "fewest" | "order" }
  | { readonly kind: "count"; readonly over: number };

export interface SynthesisProblem {
  readonly thing: Thing;
  /** In the order in which the question names them, two at least. */
  readonly places: readonly Place[];
  readonly combination: Combination;
}

const kinds = ["sum", "most", "fewest", "order", "count"] as const;

/** A problem over `level + 1` places of a split, or undefined when these draws came to none. */
export function drawSynthesis(draw: Rng, level: number, own: readonly Place[]): SynthesisProblem | undefined {
  const places = draw.shuffle(own).slice(0, level + 1);
  return sound({ thing: draw.pick(things), places, combination: drawCombination(draw) });
}

function drawCombination(draw: Rng): Combination {
  const kind = draw.pick(kinds);
  return kind === "count" ? { kind, over: 3 + draw.int(18) } : { kind };
}

/** One place, the thing, or what is made of the numbers is changed; the passages stay as they are. */
export function changeSynthesis(
  problem: SynthesisProblem,
  draw: Rng,
  own: readonly Place[],
): SynthesisProblem | undefined {
  const what = draw.pick(["place", "thing", "combination"]);
  if (what === "thing") return sound({ ...problem, thing: draw.pick(things) });
  if (what === "combination") return sound({ ...problem, combination: drawCombination(draw) });
  const place = draw.pick(own);
  if (problem.places.includes(place)) return undefined;
  return sound({ ...problem, places: problem.places.with(draw.int(problem.places.length), place) });
}

/** Comparisons have no ties, a sum is a number of the vocabulary, and a count is neither none nor all. */
function sound(problem: SynthesisProblem): SynthesisProblem | undefined {
  const { thing, places, combination } = problem;
  const numbers = places.map(({ has }) => has[thing]);
  if (combination.kind === "sum") return numbers.reduce((a, b) => a + b) <= largest ? problem : undefined;
  if (combination.kind !== "count") return new Set(numbers).size === numbers.length ? problem : undefined;
  const { over } = combination;
  const above = numbers.filter((number) => number > over).length;
  return above > 0 && above < numbers.length ? problem : undefined;
}

export const placesOf = (all: readonly Place[], split: Split): Place[] =>
  all.filter((place) => place.split === split);
