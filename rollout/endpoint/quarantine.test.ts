import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterEvent, backOff, type Health, type HealthEvent, healthy, tolerated } from "./quarantine.ts";

const healthAfter = (...events: HealthEvent[]) => events.reduce<Health>(afterEvent, healthy);
const events = fc.array(
  fc.constantFrom<HealthEvent>("succeeded", "failed", "broke", "checked", "unchecked"),
  { maxLength: 60 },
);

describe("health", () => {
  test("a break quarantines at once, failures in a row, a success between them does not", () => {
    expect(healthAfter("broke").state).toBe("quarantined");
    expect(healthAfter("failed", "failed").state).toBe("healthy");
    expect(healthAfter("failed", "failed", "failed").state).toBe("quarantined");
    expect(healthAfter("failed", "failed", "succeeded", "failed", "failed").state).toBe("healthy");
  });

  test("the way back is a health probe and then one request", () => {
    expect(healthAfter("broke", "checked").state).toBe("probing");
    expect(healthAfter("broke", "checked", "succeeded")).toEqual(healthy);
    expect(healthAfter("broke", "checked", "failed").state).toBe("quarantined");
    expect(healthAfter("broke", "checked", "broke").state).toBe("quarantined");
  });

  test("the back-off doubles until a request succeeds, and is bounded", () => {
    const waits = [
      healthAfter("broke"),
      healthAfter("broke", "unchecked"),
      healthAfter("broke", "unchecked", "checked", "failed"),
    ];
    expect(waits.map((health) => backOff(health, 100))).toEqual([100, 200, 400]);
    expect(backOff(healthAfter("broke", "unchecked", "checked", "succeeded", "broke"), 100)).toBe(100);
    expect(backOff(healthAfter("broke", ...Array<HealthEvent>(1100).fill("unchecked")), 100)).toBe(6400);
  });

  test("laws: no way from quarantine to health but through the probe; level 0 is health", () => {
    fc.assert(
      fc.property(events, (list) => {
        let health = healthy;
        for (const event of list) {
          const next = afterEvent(health, event);
          if (health.state === "quarantined" && next.state !== "quarantined") {
            expect(event).toBe("checked");
            expect(next.state).toBe("probing");
          }
          if (next.state === "healthy") expect(next.failures).toBeLessThan(tolerated);
          else expect(next.level).toBeGreaterThan(0);
          if (next.level > health.level) expect(next.state).toBe("quarantined");
          health = next;
        }
      }),
    );
  });
});
