import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rng } from "../core/rng.ts";
import { curricula, drawHops, easyPlace, onlyHops } from "./curriculum.ts";

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

describe("easy first", () => {
  const target = { 1: 0, 2: 1, 3: 3 };
  const easy = curricula.easyFirst({ 1: 1, 2: 0, 3: 0 }, curricula.mix(target), { steps: 10, blend: 4 });

  it("gives the easy mix alone, then moves straight to the target, then is the target", () => {
    for (const step of [0, 9]) expect(easy(step)).toEqual({ 1: 1, 2: 0, 3: 0 });
    expect([10, 11, 12, 13].map((step) => easy(step)[1])).toEqual(
      [0.8, 0.6, 0.4, 0.2].map((share) => expect.closeTo(share, 12)),
    );
    for (const step of [14, 99]) expect(easy(step)).toBe(target);
  });

  it("is a tenth of the steps, rounded up, and nothing when its share is 0", () => {
    expect(easyPlace({ share: 0.1, mixIn: 0.1 }, 95)).toEqual({ steps: 10, blend: 10 });
    const none = curricula.easyFirst(
      { 1: 1, 2: 0, 3: 0 },
      curricula.mix(target),
      easyPlace({ share: 0, mixIn: 0 }, 95),
    );
    expect(none(0)).toBe(target);
  });

  it("keeps the mix among easy hops, and takes as many of each where the mix has none", () => {
    expect(onlyHops({ 1: 5, 2: 3, 3: 2 }, [1, 2])).toEqual({ 1: 5, 2: 3, 3: 0 });
    expect(onlyHops({ 1: 0, 2: 0, 3: 1 }, [1, 2])).toEqual({ 1: 1, 2: 1, 3: 0 });
  });
});

it("takes a share of the questions from the most hops that the mix has, once the easy steps are over", () => {
  expect(curricula.mix({ 1: 5, 2: 3, 3: 2 })(0, 0.5)).toEqual({ 1: 0.25, 2: 0.15, 3: 0.6 });
  expect(curricula.mix({ 1: 1, 2: 1, 3: 0 })(0, 0.5)).toEqual({ 1: 0.25, 2: 0.75, 3: 0 });
  const easy = curricula.easyFirst({ 1: 1, 2: 0, 3: 0 }, curricula.uniform(), { steps: 2, blend: 0 });
  expect(easy(1, 0.9)).toEqual({ 1: 1, 2: 0, 3: 0 });
});
