import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mutex } from "./mutex.ts";
import { settled } from "./testing.ts";
import { waitingLine } from "./waiting-line.ts";

const never = () => new AbortController().signal;

describe("waiting line", () => {
  test("law: nobody takes a seat that one before him could have had", async () => {
    // Each may sit on some of four chairs; the chairs become free one after the other.
    const chairs = fc.subarray([0, 1, 2, 3], { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(fc.array(chairs, { maxLength: 20 }), fc.array(fc.nat(3)), async (guests, freed) => {
        const free = new Set<number>();
        const seat = (may: readonly number[]) => {
          const chair = may.find((each) => free.has(each));
          if (chair !== undefined) free.delete(chair);
          return chair;
        };
        const line = waitingLine({ seat, anyRoom: () => free.size > 0 });
        const seated: number[] = [];
        for (const [i, may] of guests.entries())
          line.enter(may, never()).then(
            () => seated.push(i),
            () => {},
          );
        const left = new Set(guests.keys());
        for (const chair of freed) {
          free.add(chair);
          line.advance();
          await settled();
          const first = [...left].find((i) => guests[i]?.includes(chair));
          if (first === undefined) free.delete(chair);
          else {
            expect(seated.at(-1)).toBe(first);
            left.delete(first);
          }
        }
        expect(seated).toHaveLength(guests.length - left.size);
        line.close(new Error("closed"));
      }),
      { numRuns: 40 },
    );
  });

  test("closed, it turns everyone away", async () => {
    const line = waitingLine({ seat: () => undefined, anyRoom: () => true });
    const error = new Error("closed");
    const waiting = expect(line.enter("a", never())).rejects.toBe(error);
    line.close(error);
    await waiting;
    await expect(line.enter("b", never())).rejects.toBe(error);
  });
});

test("a mutex runs one work at a time, also past one that gave up waiting and one that failed", async () => {
  const { alone } = mutex();
  const log: string[] = [];
  let end = () => {};
  const first = alone(
    never(),
    () =>
      new Promise<void>((_, reject) => {
        log.push("first");
        end = () => reject(new Error("failed"));
      }),
  );
  const failed = expect(first).rejects.toThrow("failed");
  const abort = new AbortController();
  const second = alone(abort.signal, async () => void log.push("second"));
  const gaveUp = expect(second).rejects.toThrow("gave up");
  const third = alone(never(), async () => void log.push("third"));
  abort.abort(new Error("gave up"));
  await gaveUp;
  await settled();
  expect(log).toEqual(["first"]);
  end();
  await failed;
  await third;
  expect(log).toEqual(["first", "third"]);
});
