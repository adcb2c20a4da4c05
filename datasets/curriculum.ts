import type { Rng } from "../core/rng.ts";

/** Shares of questions with one, two and three hops; any non-negative weights, not all zero. */
export interface HopMix {
  readonly 1: number;
  readonly 2: number;
  readonly 3: number;
}

/** What share of each difficulty a step's questions have. `step` counts from 0. */
export type Curriculum = (step: number) => HopMix;

export const uniformMix: HopMix = { 1: 1, 2: 1, 3: 1 };

/** Makers of curricula. */
export const curricula = {
  uniform: (): Curriculum => () => uniformMix,
  mix:
    (mix: HopMix): Curriculum =>
    () =>
      mix,
  /** Straight from one mix to another over `steps` steps, then stays. */
  ramp:
    (from: HopMix, to: HopMix, steps: number): Curriculum =>
    (step) => {
      const done = Math.min(1, step / steps);
      const between = (hops: keyof HopMix) =>
        (from[hops] / total(from)) * (1 - done) + (to[hops] / total(to)) * done;
      return { 1: between(1), 2: between(2), 3: between(3) };
    },
};

const total = (mix: HopMix) => mix[1] + mix[2] + mix[3];

/**
 * Hops of `n` questions in random order, each count within one of its exact share and right on average
 * (systematic sampling): a step's difficulty is not left to chance.
 */
export function drawHops(mix: HopMix, n: number, draw: Rng): (1 | 2 | 3)[] {
  const offset = draw();
  const first = mix[1] / total(mix);
  const second = first + mix[2] / total(mix);
  const last = mix[3] > 0 ? 3 : mix[2] > 0 ? 2 : 1;
  const hops = Array.from({ length: n }, (_, i) => {
    const at = (i + offset) / n;
    return at < first ? 1 : at < second ? 2 : last;
  });
  return draw.shuffle(hops);
}
