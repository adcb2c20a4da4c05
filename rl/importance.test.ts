import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { importanceOf, rlConfig } from "./config.ts";
import { type ImportanceMode, importanceModes, importanceRatios, importanceWeights } from "./importance.ts";
import { icePop, truncatedImportance } from "./reference/importance.ts";
import { surrogates } from "./reference/surrogate.ts";

const bounds = { cap: 2, low: 0.5, high: 2 };
const ln = Math.log;
/** Ratios of the four policy tokens: 1.2, 3, 0.25, 1; their product is 0.9. Position 0 is no policy token. */
const gap = {
  old: [7, ln(1.2) - 1, ln(3) - 1, ln(0.25) - 1, -1],
  sampler: [0, -1, -1, -1, -1],
  mask: [0, 1, 1, 1, 1],
};

describe("golden weights", () => {
  test.each<[ImportanceMode, number[]]>([
    ["none", [0, 1, 1, 1, 1]],
    ["token", [0, 1.2, 2, 0.25, 1]],
    ["mask", [0, 1.2, 0, 0, 1]],
    ["sequence", [0, 0.9, 0.9, 0.9, 0.9]],
    ["sequenceMask", [0, 0.9, 0.9, 0.9, 0.9]],
  ])("%s", (mode, expected) => {
    importanceWeights(mode, gap, bounds).forEach((w, t) => {
      expect(w).toBeCloseTo(expected[t]!, 12);
    });
  });

  test("a row whose product leaves the bounds is capped, or dropped whole", () => {
    const far = { ...gap, old: gap.old.map((x, t) => (t === 4 ? x + ln(4) : x)) }; // product 3.6
    expect(importanceWeights("sequence", far, bounds)).toEqual([0, 2, 2, 2, 2]);
    expect(importanceWeights("sequenceMask", far, bounds)).toEqual([0, 0, 0, 0, 0]);
    const low = { ...gap, old: gap.old.map((x, t) => (t === 4 ? x - ln(4) : x)) }; // product 0.225
    expect(importanceWeights("sequence", low, bounds)[1]).toBeCloseTo(0.225, 12);
    expect(importanceWeights("sequenceMask", low, bounds)).toEqual([0, 0, 0, 0, 0]);
  });

  test("no gap is weight 1 in every mode, exactly", () => {
    for (const mode of Object.keys(importanceModes) as ImportanceMode[])
      expect(importanceWeights(mode, { ...gap, old: gap.sampler }, bounds)).toEqual([0, 1, 1, 1, 1]);
  });
});

const logprob = fc.double({ min: -30, max: 0, noNaN: true });
const rows = fc.array(fc.tuple(logprob, logprob, fc.constantFrom(0, 1)), { minLength: 1, maxLength: 12 });
const gapOf = (tokens: readonly (readonly [number, number, number])[]) => ({
  old: tokens.map(([o]) => o),
  sampler: tokens.map(([, s]) => s),
  mask: tokens.map(([, , m]) => m),
});

test("token modes equal the plain reference on every token", () => {
  fc.assert(
    fc.property(rows, (tokens) => {
      const g = gapOf(tokens);
      const [token, mask] = [importanceWeights("token", g, bounds), importanceWeights("mask", g, bounds)];
      tokens.forEach(([o, s, m], t) => {
        expect(token[t]).toBe(m === 0 ? 0 : truncatedImportance(o, s, 2));
        expect(mask[t]).toBe(m === 0 ? 0 : icePop(o, s, 0.5, 2));
      });
    }),
  );
});

test("weights are finite and within [0, max(cap, high)], and masked tokens never matter", () => {
  fc.assert(
    fc.property(
      rows,
      fc.constantFrom(...(Object.keys(importanceModes) as ImportanceMode[])),
      (tokens, mode) => {
        const g = gapOf(tokens);
        const weights = importanceWeights(mode, g, bounds);
        for (const w of weights) expect(w >= 0 && w <= 2).toBe(true);
        const other = { ...g, old: g.old.map((x, t) => (g.mask[t] === 0 ? x - 5 : x)) };
        expect(importanceWeights(mode, other, bounds)).toEqual(weights);
        expect(importanceRatios(mode, other)).toEqual(importanceRatios(mode, g));
      },
    ),
  );
});

test("a weight on the advantage is a weight on the loss, for every surrogate", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 2, noNaN: true }),
      fc.double({ min: -2, max: 2, noNaN: true }),
      (w, a) => {
        const at = (advantage: number) => ({
          logprobs: [-1, -0.4],
          oldLogprobs: [-1.3, -0.2],
          advantages: [advantage, advantage],
          mask: [1, 1],
        });
        for (const surrogate of Object.values(surrogates)) {
          const [weighted, plain] = [at(w * a), at(a)].map((x) =>
            surrogate(x, { clipLow: 0.2, clipHigh: 0.28 }),
          );
          weighted!.forEach((loss, t) => {
            expect(loss).toBeCloseTo(w * plain![t]!, 10);
          });
        }
      },
    ),
  );
});

test("the mode is token with an endpoint, none in process, and what the YAML says in both", () => {
  expect(importanceOf(rlConfig.parse({}), true)).toEqual({ mode: "token", cap: 2, low: 0.5, high: 2 });
  expect(importanceOf(rlConfig.parse({}), false).mode).toBe("none");
  const own = rlConfig.parse({ importance: { mode: "mask", high: 5 } });
  expect(importanceOf(own, true)).toEqual({ mode: "mask", cap: 2, low: 0.5, high: 5 });
  expect(importanceOf(own, false).mode).toBe("mask");
  expect(() => rlConfig.parse({ importance: { low: 1.5 } })).toThrow();
});
