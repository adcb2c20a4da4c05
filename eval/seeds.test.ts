import { expect, test } from "vitest";
import { rng } from "../core/rng.ts";
import { seededDifference } from "./seeds.ts";

const draw = rng(7, "seeds test");
/** Normal by the sum of twelve uniforms. */
const normal = () => Array.from({ length: 12 }, () => draw()).reduce((a, b) => a + b, 0) - 6;

/** d[s][q] = truth + seed effect + question effect + noise. */
function table(o: {
  seeds: number;
  questions: number;
  truth: number;
  seed: number;
  question: number;
  noise: number;
}) {
  const ofQuestion = Array.from({ length: o.questions }, () => o.question * normal());
  return Array.from({ length: o.seeds }, () => {
    const ofSeed = o.seed * normal();
    return ofQuestion.map((each) => o.truth + ofSeed + each + o.noise * normal());
  });
}

test.each([
  { seeds: 3, seed: 0.1, question: 0, noise: 0.3 },
  { seeds: 3, seed: 0.02, question: 0.2, noise: 0.3 },
  { seeds: 5, seed: 0.05, question: 0.1, noise: 0.3 },
  { seeds: 3, seed: 0, question: 0, noise: 0.3 },
])("covers the truth as often as it says, or more: %o", (shape) => {
  const times = 250;
  let inside = 0;
  for (let i = 0; i < times; i++) {
    const { low, high } = seededDifference(table({ ...shape, questions: 30, truth: 0.1 }), {
      seed: i,
      resamples: 200,
    });
    if (low <= 0.1 && 0.1 <= high) inside++;
  }
  expect(inside / times).toBeGreaterThan(0.91); // of 0.95, give or take 0.014
});

test("seeds that differ widen it, seeds that agree do not, and p says the same", () => {
  const alike = [
    [1, 0, 1, 0, 1, 0, 1, 1],
    [1, 0, 1, 0, 0, 1, 1, 1],
    [0, 1, 1, 0, 1, 0, 1, 1],
  ];
  const apart = [
    [1, 1, 1, 1, 1, 1, 1, 1],
    [1, 0, 1, 0, 1, 0, 1, 0],
    [0, 0, 0, 1, 0, 0, 1, 1],
  ];
  const [a, b] = [alike, apart].map((d) => seededDifference(d, { seed: 1 }));
  expect(a?.difference).toBeCloseTo(0.625, 10);
  expect(a?.difference).toBeCloseTo(b?.difference as number, 10);
  expect(a?.bySeed).toEqual([0.625, 0.625, 0.625]);
  expect((b?.high as number) - (b?.low as number)).toBeGreaterThan(
    2 * ((a?.high as number) - (a?.low as number)),
  );
  expect(a?.p).toBeLessThan(0.05);
  expect(b?.p).toBeGreaterThan(0.05);
  for (const each of [a, b])
    expect((each?.low as number) <= 0 && 0 <= (each?.high as number)).toBe((each?.p as number) > 0.05);
});

test("is a function of its arguments, and turns round with their sign", () => {
  const d = table({ seeds: 3, questions: 20, truth: 0.1, seed: 0.1, question: 0.1, noise: 0.2 });
  const one = seededDifference(d, { seed: 1 });
  expect(seededDifference(d, { seed: 1 })).toEqual(one);
  const other = seededDifference(
    d.map((row) => row.map((value) => -value)),
    { seed: 1 },
  );
  expect(other.low).toBeCloseTo(-one.high, 10);
  expect(other.p).toBeCloseTo(one.p, 10);
});

test("one seed is a paired comparison of questions; no change at all has an interval with width", () => {
  const one = seededDifference([[1, 0, 0, 1, 0, 0, 1, 0]], { seed: 1 });
  expect(one).toMatchObject({ over: "questions", difference: 0.375, p: 0.25 });
  const none = seededDifference([Array(40).fill(0), Array(40).fill(0), Array(40).fill(0)], {
    seed: 1,
    unit: true,
  });
  expect(none).toMatchObject({ over: "questions", difference: 0, p: 1 });
  expect(none.low).toBeLessThan(0);
  expect(none.high).toBeGreaterThan(0);
  expect(() => seededDifference([[1], [1, 2]], { seed: 1 })).toThrow("seeds by questions");
  expect(() => seededDifference([], { seed: 1 })).toThrow("seeds by questions");
});
