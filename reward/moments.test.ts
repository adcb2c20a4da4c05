import fc from "fast-check";
import { linearRegression, sampleCorrelation } from "simple-statistics";
import { expect, test } from "vitest";
import { Moments } from "./moments.ts";

const pairs = fc.array(fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: -50, max: 50 })), {
  minLength: 4,
});

function momentsOf(all: readonly (readonly [number, number])[]): Moments {
  const moments = new Moments();
  for (const [x, y] of all) moments.add(x, y);
  return moments;
}

test("correlation and slope are those of the whole sample", () => {
  fc.assert(
    fc.property(pairs, (all) => {
      const [xs, ys] = [all.map(([x]) => x), all.map(([, y]) => y)];
      const { correlation, line } = momentsOf(all);
      const varies = (values: number[]) => new Set(values).size > 1;
      if (!varies(xs) || !varies(ys)) expect(correlation).toBeNull();
      else expect(correlation).toBeCloseTo(sampleCorrelation(xs, ys), 9);
      if (!varies(xs)) expect(line).toBeNull();
      else {
        const { m, b } = linearRegression(all.map(([x, y]) => [x, y]));
        expect(line?.slope).toBeCloseTo(m, 9);
        expect(line?.at(0)).toBeCloseTo(b, 6);
      }
    }),
  );
});

test("t of a slope: a textbook case, none where nothing moves, huge where nothing is left over", () => {
  // x 1…5, y 2, 4, 5, 4, 5: slope 0.6, residual sum of squares 2.4, standard error √(0.8 / 10).
  const textbook = momentsOf([2, 4, 5, 4, 5].map((y, i) => [i + 1, y]));
  expect(textbook.line?.slope).toBeCloseTo(0.6, 12);
  expect(textbook.line?.t).toBeCloseTo(0.6 / Math.sqrt(0.08), 9);
  expect(momentsOf([0, 1, 2, 3].map((x) => [x, 7])).line?.t).toBe(0);
  expect(momentsOf([0, 1, 2, 3].map((x) => [x, 2 * x])).line?.t).toBeGreaterThan(1e6);
  expect(
    momentsOf([
      [0, 1],
      [1, 2],
    ]).line,
  ).toBeNull();
});
