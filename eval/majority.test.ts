import fc from "fast-check";
import { expect, test } from "vitest";
import { majorityAt, type Vote } from "./majority.ts";

const vote = (count: number, right = false): Vote => ({ count, right });

test("k of n samples, ties shared, silent samples drawn but never chosen", () => {
  // Every subset counted in Python: 3 right, 2 and 1 wrong, 2 silent.
  const wanted = [0.375, 0.482142857, 0.535714286, 0.6, 0.669642857, 0.732142857, 0.8125, 1];
  wanted.forEach((value, i) => {
    expect(majorityAt([vote(3, true), vote(2), vote(1)], 2, i + 1)).toBeCloseTo(value, 8);
  });
});

test("ends: one sample is avg@1, all samples are decided or shared, too few have no value", () => {
  expect(majorityAt([vote(1, true), vote(3)], 0, 1)).toBe(0.25);
  expect(majorityAt([vote(2, true), vote(2)], 0, 4)).toBe(0.5);
  expect(majorityAt([vote(2, true), vote(2, true), vote(2)], 0, 6)).toBeCloseTo(2 / 3, 12);
  expect(majorityAt([vote(1, true)], 7, 8)).toBe(1);
  expect(majorityAt([], 4, 2)).toBe(0);
  expect(majorityAt([vote(3, true)], 0, 4)).toBeUndefined();
  expect(majorityAt([vote(3, true)], 0, 0)).toBeUndefined();
});

test("agrees with every subset counted one by one", () => {
  const votes = fc.array(fc.record({ count: fc.integer({ min: 1, max: 4 }), right: fc.boolean() }), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(votes, fc.nat(2), fc.integer({ min: 1, max: 9 }), (all, silent, k) => {
      const owners = [
        ...all.flatMap(({ count }, i) => Array<number>(count).fill(i)),
        ...Array<number>(silent).fill(-1),
      ];
      fc.pre(owners.length >= k && owners.length <= 11);
      let [sum, sets] = [0, 0];
      for (let bits = 0; bits < 2 ** owners.length; bits++) {
        const drawn = owners.filter((_, i) => (bits >> i) & 1);
        if (drawn.length !== k) continue;
        sets++;
        const counts = all.map((_, i) => drawn.filter((owner) => owner === i).length);
        const top = Math.max(0, ...counts);
        const first = all.filter((_, i) => top > 0 && counts[i] === top);
        if (first.length > 0) sum += first.filter(({ right }) => right).length / first.length;
      }
      expect(majorityAt(all, silent, k)).toBeCloseTo(sum / sets, 10);
    }),
    { numRuns: 60 },
  );
});

test("a thousand samples stay finite", () => {
  const value = majorityAt(
    [vote(400, true), vote(350), ...Array.from({ length: 274 }, () => vote(1))],
    0,
    32,
  );
  expect(value).toBeGreaterThan(0.6);
  expect(value).toBeLessThan(0.8);
});
