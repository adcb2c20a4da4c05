import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compact, thin } from "./format.ts";
import { lineChart } from "./line-chart.ts";
import type { Curve, Figure } from "./report.ts";
import { freeScale, stepScale, ticksOf } from "./scale.ts";
import { stackChart } from "./stack-chart.ts";

const finite = fc.double({ min: -1e9, max: 1e9, noNaN: true });

describe("ticks", () => {
  test("are round and cover the range", () => {
    expect(ticksOf(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticksOf(0.03, 0.29, 4)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(ticksOf(-3, 12, 4)).toEqual([-5, 0, 5, 10, 15]);
    expect(ticksOf(0, 3, 6, true)).toEqual([0, 1, 2, 3]);
  });

  test("of any range: few, even, ascending, around it, each with a text of its own", () => {
    fc.assert(
      fc.property(finite, finite, (a, b) => {
        fc.pre(Math.abs(a - b) > 1e-6 * Math.max(1, Math.abs(a), Math.abs(b)));
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const ticks = ticksOf(low, high, 5);
        const slack = (high - low) * 1e-6;
        expect(ticks.length).toBeLessThanOrEqual(7);
        expect(ticks[0]).toBeLessThanOrEqual(low + slack);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(high - slack);
        expect(ticks).toEqual(ticks.toSorted((x, y) => x - y));
      }),
    );
    fc.assert(
      fc.property(fc.double({ min: 1e-3, max: 1e6, noNaN: true }), (high) => {
        const { ticks, text } = freeScale([0, high], 0, 100);
        expect(new Set(ticks.map(text)).size).toBe(ticks.length);
      }),
    );
  });

  test("of steps are whole and within the run; one step is in the middle", () => {
    expect(stepScale([0, 40], 0, 100, 5).ticks).toEqual([0, 10, 20, 30, 40]);
    expect(stepScale([3], 0, 100, 5).at(3)).toBe(50);
    const many = Array.from({ length: 300_000 }, (_, i) => i);
    expect(stepScale(many, 0, 100, 5).high).toBe(299_999);
  });
});

const figure = (curves: readonly Curve[], form: Figure["form"] = "curves"): Figure => ({
  ...{ id: "x", section: "reward", title: "x", caption: "", range: "free", form, curves },
});
const coordinates = (text: string) => [...text.matchAll(/c[xy]="([^"]+)"/g)].map(([, n]) => Number(n));

test("any finite values are drawn inside the frame, with their titles", () => {
  const point = fc.record({ step: fc.integer({ min: 0, max: 1e6 }), value: finite, half: fc.option(finite) });
  const curve = fc.record({
    name: fc.string(),
    kind: fc.constantFrom("line" as const, "points" as const),
    points: fc.array(point, { maxLength: 8 }).map((points) =>
      points
        .sort((a, b) => a.step - b.step)
        .map(({ step, value, half }) => ({
          ...{ step, value },
          ...(half === null ? {} : { low: value - Math.abs(half), high: value + Math.abs(half), n: 3 }),
        })),
    ),
  });
  fc.assert(
    fc.property(fc.array(curve, { maxLength: 9 }), (curves) => {
      const size = { width: 360, height: 230 };
      const text = lineChart(figure(curves), size).text;
      expect(text).not.toMatch(/NaN|Infinity|undefined/);
      for (const n of coordinates(text)) expect(n >= -20 && n <= 380).toBe(true);
      const points = curves.reduce((n, { points }) => n + points.length, 0);
      expect(text.split("<title>").length - 1).toBe(points);
    }),
    { numRuns: 60 },
  );
});

test("large steps are told apart, in few digits where they can be", () => {
  const texts = (low: number, high: number) => {
    const { ticks, text } = stepScale([low, high], 0, 100, 4);
    return ticks.map(text);
  };
  expect(texts(974_824, 974_826)).toEqual(["974824", "974825", "974826"]);
  expect(texts(0, 40_000)).toEqual(["0", "10k", "20k", "30k", "40k"]);
});

test("a band ends where no interval is stored", () => {
  const points = [1, 2, 3, 4, 5].map((step) => ({
    step,
    value: 1,
    ...(step === 3 ? {} : { low: 0, high: 2, n: 2 }),
  }));
  const text = lineChart(figure([{ name: "a", kind: "line", points }]), { width: 360, height: 230 }).text;
  expect(text.split('class="band s0"').length - 1).toBe(2);
  expect(text).toContain("<title>a, step 3: 1.000</title>");
});

test("a long run has at most sixty columns, each the mean of its steps", () => {
  const points = Array.from({ length: 600 }, (_, i) => ({ step: i + 1, value: i % 2 }));
  const curves: Curve[] = [{ name: "right", kind: "line", points }];
  const titles = [
    ...stackChart(figure(curves, "stack"), { width: 360, height: 230 }).text.matchAll(/<title>([^<]+)/g),
  ];
  expect(titles).toHaveLength(60);
  expect(titles[0]?.[1]).toBe("steps 1 to 10: right 50.0 %");
});

test("numbers keep the digits that matter", () => {
  expect([0, 1, 0.03215, 12.345, 113.09375, 4567.8, 1.1e-7, -2.5].map(compact)).toEqual([
    "0",
    "1.000",
    "0.032",
    "12.35",
    "113.1",
    "4568",
    "1.1e-7",
    "−2.500",
  ]);
});

test("thinning keeps the ends and the order", () => {
  const list = Array.from({ length: 1000 }, (_, i) => i);
  const some = thin(list, 12);
  expect([some.length, some[0], some.at(-1)]).toEqual([12, 0, 999]);
  expect(some).toEqual(some.toSorted((a, b) => a - b));
  expect(thin([1, 2], 12)).toEqual([1, 2]);
});
