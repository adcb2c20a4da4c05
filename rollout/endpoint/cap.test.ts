import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterLoad, afterOverload, limitOf } from "./cap.ts";
import type { ServerLoad } from "./driver.ts";

const calm: ServerLoad = { running: 64, waiting: 0, kvCacheUsage: 0.5, preemptions: 0 };
const at = (cap: number, preemptions: number | undefined = 0) => ({ cap, most: 64, preemptions });

describe("afterLoad", () => {
  test.each([
    ["a full cache", { ...calm, kvCacheUsage: 0.95 }, 48],
    ["preemptions that rise", { ...calm, preemptions: 3 }, 48],
    ["requests that wait, but not below what runs", { ...calm, running: 60, waiting: 4 }, 60],
    ["requests that wait while little runs", { ...calm, running: 10, waiting: 54 }, 48],
  ])("%s lowers it", (_, load, cap) => {
    expect(afterLoad(at(64), load, 64).cap).toBe(cap);
  });

  test("what was not in use is given up first", () => {
    expect(afterLoad(at(64), { ...calm, kvCacheUsage: 0.95 }, 8).cap).toBe(6);
  });

  test("it is not lowered again before it is reached", () => {
    const full = { ...calm, kvCacheUsage: 0.99 };
    const once = afterLoad(at(64), full, 64);
    expect(afterLoad(once, full, 60)).toEqual(once);
    expect(afterLoad(once, full, 48).cap).toBe(36);
  });

  test("preemptions count from the first answer on, and a server that restarted begins anew", () => {
    const first = afterLoad(limitOf(64), { ...calm, preemptions: 100 }, 64);
    expect(first.cap).toBe(64);
    const restarted = afterLoad(first, { ...calm, preemptions: 1 }, 64);
    expect(restarted.cap).toBe(64);
    expect(afterLoad(restarted, { ...calm, preemptions: 2 }, 64).cap).toBe(48);
  });

  test("it rises slowly when calm, and where the server does not say", () => {
    expect(afterLoad(at(10), calm, 10).cap).toBe(12);
    expect(afterLoad(at(10), undefined, 10).cap).toBe(12);
    expect(afterLoad({ cap: 1, most: 4, preemptions: 0 }, calm, 1).cap).toBe(2);
  });

  test("laws: 1 ≤ cap ≤ most; trouble never raises it; a calm server gets everything back", () => {
    const load = fc.record({
      running: fc.nat(200),
      waiting: fc.nat(200),
      kvCacheUsage: fc.double({ min: 0, max: 1, noNaN: true }),
      preemptions: fc.nat(5),
    });
    const step = fc.record({ load: fc.option(load), inFlight: fc.nat(100), rejected: fc.boolean() });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 128 }), fc.array(step, { maxLength: 50 }), (most, steps) => {
        let limit = limitOf(most);
        for (const { load, inFlight, rejected } of steps) {
          const next = rejected
            ? afterOverload(limit, inFlight)
            : afterLoad(limit, load ?? undefined, inFlight);
          expect(next.cap).toBeGreaterThanOrEqual(1);
          expect(next.cap).toBeLessThanOrEqual(most);
          if (rejected || (load && (load.waiting > 0 || load.kvCacheUsage > 0.9)))
            expect(next.cap).toBeLessThanOrEqual(limit.cap);
          limit = next;
        }
        // The first of these answers may still show preemptions that rose.
        for (let i = 0; i <= most; i++) limit = afterLoad(limit, { ...calm, preemptions: 9 }, 0);
        expect(limit.cap).toBe(most);
      }),
    );
  });
});

test("an answer 429 or 503 halves what is in use", () => {
  expect(afterOverload(at(64), 40).cap).toBe(20);
  expect(afterOverload(at(64), 1).cap).toBe(1);
});
