import fc from "fast-check";
import { expect, it } from "vitest";
import { rng } from "../core/rng.ts";
import { curricula, drawHops } from "./curriculum.ts";

const weight = fc.integer({ min: 0, max: 9 });
const mixes = fc.record({ 1: weight, 2: weight, 3: weight }).filter((mix) => mix[1] + mix[2] + mix[3] > 0);

it("draws each hop count within one of its share, whatever the seed", () => {
  fc.assert(
    fc.property(mixes, fc.integer({ min: 1, max: 60 }), fc.integer(), (mix, n, seed) => {
      const hops = drawHops(mix, n, rng(seed));
      expect(hops).toHaveLength(n);
      for (const h of [1, 2, 3] as const) {
        const exact = (n * mix[h]) / (mix[1] + mix[2] + mix[3]);
        expect(Math.abs(hops.filter((each) => each === h).length - exact)).toBeLessThan(1 + 1e-9);
      }
    }),
  );
});

it("is right on average, and in random order", () => {
  const all = Array.from({ length: 3000 }, (_, seed) => drawHops({ 1: 4, 2: 3, 3: 3 }, 4, rng(seed)));
  for (const place of [0, 3])
    expect(all.filter((hops) => hops[place] === 1).length / 3000).toBeCloseTo(0.4, 1);
  expect(all.flat().filter((hops) => hops === 1).length / 12_000).toBeCloseTo(0.4, 2);
});

it("has rows for a flat, a fixed and a moving mix", () => {
  expect(curricula.uniform()(5)).toEqual({ 1: 1, 2: 1, 3: 1 });
  expect(curricula.mix({ 1: 4, 2: 3, 3: 3 })(99)).toEqual({ 1: 4, 2: 3, 3: 3 });
  const ramp = curricula.ramp({ 1: 2, 2: 0, 3: 0 }, { 1: 0, 2: 1, 3: 1 }, 10);
  expect([ramp(0), ramp(5), ramp(10), ramp(50)]).toEqual([
    { 1: 1, 2: 0, 3: 0 },
    { 1: 0.5, 2: 0.25, 3: 0.25 },
    { 1: 0, 2: 0.5, 3: 0.5 },
    { 1: 0, 2: 0.5, 3: 0.5 },
  ]);
});
