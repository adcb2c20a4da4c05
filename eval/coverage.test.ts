import { describe, expect, test } from "vitest";
import { type Rng, rng } from "../core/rng.ts";
import { binomialPmf } from "./distributions.ts";
import { tango } from "./paired.ts";
import { bootstrapMean, macroMean } from "./statistics.ts";
import { type Interval, wilson } from "./wilson.ts";

/** Mean share of intervals that hold the truth is within 2 points of 95 %; simulation noise is about 0.4. */
const nominal = (coverages: readonly number[]) => {
  const mean = coverages.reduce((sum, value) => sum + value, 0) / coverages.length;
  expect(mean).toBeGreaterThan(0.93);
  expect(mean).toBeLessThan(0.97);
};
const holds = ({ low, high }: Interval, truth: number) => low <= truth + 1e-12 && high >= truth - 1e-12;
const coverage = (times: number, once: () => boolean) => {
  let count = 0;
  for (let i = 0; i < times; i++) if (once()) count++;
  return count / times;
};
const times = (n: number, draw: () => number) => Array.from({ length: n }, draw);

describe("95 % intervals hold the truth 95 times in 100, over a grid of p and n", () => {
  test("Wilson: exactly, every count weighed by its chance", () => {
    const cells = [10, 20, 50, 100, 300].flatMap((n) =>
      [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97].map((p) => {
        let sum = 0;
        for (let k = 0; k <= n; k++) if (holds(wilson(k, n), p)) sum += binomialPmf(k, n, p);
        return sum;
      }),
    );
    nominal(cells);
  });

  test("Wilson, simulated: the textbook interval ±1.96·SE would fail this", () => {
    const draw = rng(1, "wilson");
    const textbook = (k: number, n: number) => {
      const half = 1.96 * Math.sqrt(((k / n) * (1 - k / n)) / n);
      return { low: k / n - half, high: k / n + half };
    };
    const over = (interval: (k: number, n: number) => Interval) =>
      [10, 30, 100].flatMap((n) =>
        [0.03, 0.1, 0.3, 0.5, 0.9].map((p) =>
          coverage(400, () =>
            holds(
              interval(
                times(n, () => Number(draw() < p)).reduce((a, b) => a + b, 0),
                n,
              ),
              p,
            ),
          ),
        ),
      );
    nominal(over(wilson));
    expect(() => nominal(over(textbook))).toThrow();
  });

  test("bootstrap of F1-like values: many zeros and ones, the rest between", () => {
    const draw = rng(2, "bootstrap");
    const value = (p: number) => {
      const at = draw();
      return at < p / 2 ? 1 : at < p ? draw() : 0;
    };
    let seed = 0;
    const cells = [20, 40, 80].flatMap((n) =>
      [0.2, 0.4, 0.6, 0.9].map((p) =>
        coverage(300, () =>
          holds(
            bootstrapMean(
              times(n, () => value(p)),
              { seed: seed++, resamples: 250 },
            ),
            0.75 * p,
          ),
        ),
      ),
    );
    nominal(cells);
  });

  test("bootstrap of counts: turns, 1 to 4", () => {
    const draw = rng(3, "turns");
    let seed = 0;
    const cells = [10, 30, 100].map((n) =>
      coverage(600, () =>
        holds(
          bootstrapMean(
            times(n, () => 1 + draw.int(4)),
            { seed: seed++, resamples: 250 },
          ),
          2.5,
        ),
      ),
    );
    nominal(cells);
  });

  test("Tango: paired rates, with few pairs that differ and many", () => {
    const draw = rng(4, "tango");
    const cells = [20, 50, 150, 400].flatMap((n) =>
      (
        [
          [0.02, 0.02],
          [0.05, 0.01],
          [0.1, 0.1],
          [0.2, 0.1],
          [0.3, 0.05],
        ] as const
      ).map(([up, down]) =>
        coverage(300, () => {
          const [gains, losses] = pairsOf(draw, n, up, down);
          return holds(tango(gains, losses, n), up - down);
        }),
      ),
    );
    nominal(cells);
  });

  test("macro mean of data sets of unequal size and difficulty", () => {
    const draw = rng(5, "macro");
    const shapes = [
      [
        [30, 0.5],
        [100, 0.3],
      ],
      [
        [20, 0.4],
        [50, 0.6],
        [200, 0.5],
      ],
      [
        [125, 0.35],
        [60, 0.6],
      ],
    ] as const;
    const cells = shapes.map((shape) => {
      const truth = shape.reduce((sum, [, p]) => sum + p, 0) / shape.length;
      return coverage(800, () =>
        holds(macroMean(shape.map(([n, p]) => times(n, () => Number(draw() < p)))), truth),
      );
    });
    nominal(cells);
  });
});

function pairsOf(draw: Rng, n: number, up: number, down: number): [number, number] {
  let [gains, losses] = [0, 0];
  for (let i = 0; i < n; i++) {
    const at = draw();
    if (at < up) gains++;
    else if (at < up + down) losses++;
  }
  return [gains, losses];
}
