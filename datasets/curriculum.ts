import type { Rng } from "../core/rng.ts";

/** Shares of questions with one, two and three hops; any non-negative weights, not all zero. */
export interface HopMix {
  readonly 1: number;
  readonly 2: number;
  readonly 3: number;
}

/**
 * What share of each difficulty a step's questions have. `step` counts from 0. Of the questions, the share `harder` (0 … 1)
 * is to have the most hops there are, whatever the mix says; 0 unless given.
 */
export type Curriculum = (step: number, harder?: number) => HopMix;

export const uniformMix: HopMix = { 1: 1, 2: 1, 3: 1 };

/** Makers of curricula. */
export const curricula = {
  uniform: (): Curriculum => () => uniformMix,
  mix:
    (mix: HopMix): Curriculum =>
    (_step, harder = 0) =>
      hardened(mix, harder),
  /** Straight from one mix to another over `steps` steps, then stays. */
  ramp:
    (from: HopMix, to: HopMix, steps: number): Curriculum =>
    (step, harder = 0) =>
      hardened(blend(from, to, Math.min(1, step / steps)), harder),
  /** The easy mix alone, whatever is harder; then, over `place.blend` steps, straight to what `then` says. */
  easyFirst:
    (easy: HopMix, then: Curriculum, place: EasyPlace): Curriculum =>
    (step, harder = 0) => {
      const share = easyShare(place, step);
      const target = then(step, harder);
      return share === 0 ? target : blend(target, easy, share);
    },
};

/** Which steps are easy. */
export interface EasyPlace {
  /** Steps of easy tasks alone, from the first on. */
  readonly steps: number;
  /** Steps after them over which the others are mixed in. */
  readonly blend: number;
}

/** Where the easy steps of a run of `steps` steps end. Every share above 0 is a step at least. */
export const easyPlace = (o: { share: number; mixIn: number }, steps: number): EasyPlace => ({
  steps: Math.ceil(o.share * steps),
  blend: Math.ceil(o.mixIn * steps),
});

/** Share of a step's tasks that have to be easy ones: 1, then falling, then 0. */
export function easyShare(place: EasyPlace, step: number): number {
  if (step < place.steps) return 1;
  return Math.max(0, 1 - (step - place.steps + 1) / (place.blend + 1));
}

const total = (mix: HopMix) => mix[1] + mix[2] + mix[3];

const blend = (from: HopMix, to: HopMix, done: number): HopMix => {
  const between = (hops: keyof HopMix) =>
    (from[hops] / total(from)) * (1 - done) + (to[hops] / total(to)) * done;
  return { 1: between(1), 2: between(2), 3: between(3) };
};

const hardened = (mix: HopMix, harder: number): HopMix => {
  if (harder === 0) return mix;
  const most = mix[3] > 0 ? 3 : mix[2] > 0 ? 2 : 1;
  return blend(mix, { 1: 0, 2: 0, 3: 0, [most]: 1 }, harder);
};

/** The part of a mix that has these hop counts; as much of each where the mix has none of them. */
export function onlyHops(mix: HopMix, hops: readonly (1 | 2 | 3)[]): HopMix {
  const keep = (h: 1 | 2 | 3) => (hops.includes(h) ? mix[h] : 0);
  const kept = { 1: keep(1), 2: keep(2), 3: keep(3) };
  const even = (h: 1 | 2 | 3) => (hops.includes(h) ? 1 : 0);
  return total(kept) > 0 ? kept : { 1: even(1), 2: even(2), 3: even(3) };
}

/**
 * Hops of `n` questions in random order, each count within one of its exact share and right on average: a step's
 * difficulty is not left to chance.
 */
export function drawHops(mix: HopMix, n: number, draw: Rng): (1 | 2 | 3)[] {
  return drawShares([mix[1], mix[2], mix[3]], n, draw).map((i) => (i + 1) as 1 | 2 | 3);
}

/** Places 0 … weights.length − 1 of `n` draws by weight, in random order (systematic sampling). At least one is above 0. */
export function drawShares(weights: readonly number[], n: number, draw: Rng): number[] {
  const offset = draw();
  const sum = weights.reduce((a, b) => a + b, 0);
  const last = weights.findLastIndex((weight) => weight > 0);
  const ends: number[] = [];
  for (const weight of weights) ends.push((ends.at(-1) ?? 0) + weight / sum);
  const places = Array.from({ length: n }, (_, i) => {
    const at = (i + offset) / n;
    const found = ends.findIndex((end) => at < end);
    return found < 0 || found > last ? last : found;
  });
  return draw.shuffle(places);
}
