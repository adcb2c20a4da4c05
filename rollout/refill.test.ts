import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refill } from "./refill.ts";

const task = (i: number) => ({ id: `t${i}`, question: "q", goldenAnswers: ["a"], dataset: "toy", hops: 1 });

/** Rolls numbered groups; `survives` says which carry signal. */
async function run(
  tasksPerStep: number,
  refillBatches: number,
  survives: (i: number) => boolean,
  supply = Infinity,
) {
  const sizes: number[] = [];
  let next = 0;
  const result = await refill<number>({
    tasksPerStep,
    refillBatches,
    batch(size) {
      const taken = Math.min(size, supply - next);
      sizes.push(taken);
      return Array.from({ length: taken }, () => task(next++));
    },
    roll: async (tasks) => tasks.map((t) => Number(t.id.slice(1))),
    keep: survives,
  });
  return { ...result, sizes };
}

describe("refill", () => {
  it("rolls once when every group carries signal", async () => {
    expect(await run(4, 3, () => true)).toEqual({
      kept: [0, 1, 2, 3],
      sampled: [0, 1, 2, 3],
      batches: 1,
      surplus: 0,
      missing: 0,
      sizes: [4],
    });
  });

  it("asks for what the survival so far says is missing, and keeps no more than the step wants", async () => {
    const { sizes, kept, batches, surplus } = await run(8, 3, (i) => i % 2 === 0);
    expect(sizes).toEqual([8, 8]);
    expect([kept.length, batches, surplus]).toEqual([8, 2, 0]);
  });

  it("stops at its bound and trains on what there is", async () => {
    const none = await run(4, 2, () => false);
    expect(none).toMatchObject({ kept: [], batches: 3, missing: 4, sizes: [4, 4, 4] });
    expect(await run(4, 0, (i) => i === 0)).toMatchObject({ kept: [0], batches: 1, missing: 3 });
  });

  it("stops when the source is dry", async () => {
    expect(await run(4, 5, (i) => i === 2, 6)).toMatchObject({
      kept: [2],
      batches: 2,
      missing: 3,
      sizes: [4, 2, 0],
    });
  });

  it("accounts for every group, for any survival", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean()),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 4 }),
        async (fate, size, extra) => {
          const { kept, sampled, batches, surplus, missing, sizes } = await run(
            size,
            extra,
            (i) => fate[i] ?? false,
          );
          expect(batches).toBeLessThanOrEqual(extra + 1);
          expect(sampled.length).toBe(sizes.reduce((a, b) => a + b, 0));
          const alive = sampled.filter((i) => fate[i] ?? false);
          expect(kept).toEqual(alive.slice(0, size));
          expect(surplus).toBe(alive.length - kept.length);
          expect(missing).toBe(size - kept.length);
          if (missing > 0) expect(batches).toBe(extra + 1);
        },
      ),
    );
  });
});
