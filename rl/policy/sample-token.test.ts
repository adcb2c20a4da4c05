import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rng } from "../../core/rng.ts";
import { sampleToken, type TokenParams } from "./sample-token.ts";

const open: TokenParams = { temperature: 1, topP: 1, topK: 0 };
const row = (logits: readonly number[], lead = 0) => ({
  logits: Float32Array.from([...Array<number>(lead).fill(99), ...logits, 99]),
  offset: lead,
  size: logits.length,
});
const softmax = (logits: readonly number[], temperature: number) => {
  const scaled = [...Float32Array.from(logits)].map((x) => x / temperature);
  const max = Math.max(...scaled);
  const weights = scaled.map((x) => Math.exp(x - max));
  const total = weights.reduce((a, b) => a + b, 0);
  return weights.map((w) => w / total);
};
/** Plain-number reference: sort all, cut to k, then to the smallest set that holds topP of that. */
const reference = (logits: readonly number[], { temperature, topK, topP }: TokenParams) => {
  const probabilities = softmax(logits, temperature);
  const order = probabilities
    .map((p, id) => ({ p, id, logit: Math.fround(logits[id] as number) }))
    .sort((a, b) => b.logit - a.logit || a.id - b.id);
  const best = topK > 0 ? order.slice(0, topK) : order;
  const mass = best.reduce((sum, { p }) => sum + p, 0);
  let sum = 0;
  const kept = best.filter(({ p }) => {
    const before = sum;
    sum += p;
    return topP === 1 || before < topP * mass * (1 - 1e-12);
  });
  const left = kept.reduce((total, { p }) => total + p, 0);
  return new Map(kept.map(({ p, id }) => [id, p / left]));
};
const logitsArb = fc.array(fc.double({ min: -20, max: 20, noNaN: true }), { minLength: 1, maxLength: 40 });
const uniformArb = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("sampleToken", () => {
  test("greedy takes the largest logit, the lowest id on ties, with its logprob at temperature 1", () => {
    const picked = sampleToken(row([1, 3, 3, 2], 5), { ...open, temperature: 0 }, 0.999);
    expect(picked.token).toBe(1);
    expect(picked.logprob).toBeCloseTo(Math.log(softmax([1, 3, 3, 2], 1)[1] as number), 12);
  });

  test("the logprob is the full softmax's at the temperature, whatever is cut", () => {
    const params = fc.record({
      temperature: fc.double({ min: 0.1, max: 3, noNaN: true }),
      topP: fc.double({ min: 0.01, max: 1, noNaN: true }),
      topK: fc.integer({ min: 0, max: 50 }),
    });
    fc.assert(
      fc.property(logitsArb, params, uniformArb, (logits, p, u) => {
        const { token, logprob } = sampleToken(row(logits, 3), p, u);
        const probability = softmax(logits, p.temperature)[token] as number;
        expect(Math.abs(logprob - Math.log(probability))).toBeLessThan(1e-9 * (1 + Math.abs(logprob)));
        expect(reference(logits, { ...p, topP: Math.min(1, p.topP + 1e-9) }).has(token)).toBe(true);
      }),
    );
  });

  test("the draw is the inverse of the cumulative distribution: a larger number never gives a lower id", () => {
    fc.assert(
      fc.property(logitsArb, uniformArb, uniformArb, (logits, u, v) => {
        const low = sampleToken(row(logits), open, Math.min(u, v)).token;
        const high = sampleToken(row(logits), open, Math.max(u, v)).token;
        expect(low).toBeLessThanOrEqual(high);
      }),
    );
  });

  test.each<TokenParams>([
    open,
    { ...open, temperature: 0.5 },
    { ...open, temperature: 2 },
    { ...open, topK: 3 },
    { ...open, topP: 0.7 },
    { temperature: 1.3, topK: 4, topP: 0.8 },
  ])("frequencies follow the probabilities: %o", (params) => {
    const logits = [0.1, 2, -1, 1.5, 1.2, -3, 0.9];
    const draws = 20_000;
    const random = rng(7, "frequencies");
    const counts = new Map<number, number>();
    for (let i = 0; i < draws; i++) {
      const { token } = sampleToken(row(logits), params, random());
      counts.set(token, (counts.get(token) ?? 0) + 1);
    }
    const expected = reference(logits, params);
    expect([...counts.keys()].every((token) => expected.has(token))).toBe(true);
    for (const [token, p] of expected) {
      const deviation =
        Math.abs((counts.get(token) ?? 0) - draws * p) / Math.sqrt(draws * p * (1 - p) + 1e-9);
      expect(deviation).toBeLessThan(4.5);
    }
  });

  test("top-k 1 and a tiny top-p are greedy; wide spreads and flat rows work", () => {
    fc.assert(
      fc.property(logitsArb, uniformArb, (logits, u) => {
        const best = sampleToken(row(logits), { ...open, temperature: 0 }, 0).token;
        expect(sampleToken(row(logits), { ...open, topK: 1 }, u).token).toBe(best);
        expect(sampleToken(row(logits), { ...open, topP: 1e-9 }, u).token).toBe(best);
      }),
    );
    expect(sampleToken(row([-3000, 0, 3000]), { ...open, topK: 2 }, 0.999999).token).toBe(2);
    expect(sampleToken(row([Number.NEGATIVE_INFINITY, 0]), open, 0).token).toBe(1);
    expect(sampleToken(row([1, 1, 1, 1]), { ...open, topP: 0.5 }, 0.99).token).toBe(1);
    expect(sampleToken(row([1, 1, 1, 1]), open, 1 - 2 ** -32).token).toBe(3);
  });

  test("logits that are not numbers are an error, not a token", () => {
    expect(() => sampleToken(row([1, Number.NaN, 2]), open, 0.5)).toThrow(/not numbers/);
    expect(() => sampleToken(row([Number.NaN, Number.NaN]), open, 0.5)).toThrow(/not numbers/);
    expect(() => sampleToken(row([1, Number.POSITIVE_INFINITY]), open, 0.5)).toThrow(/not numbers/);
  });
});
