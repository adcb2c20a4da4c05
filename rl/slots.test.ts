import { expect, test } from "vitest";
import { createSlots } from "./slots.ts";

/** A piece of work that ends when it is told to. */
function job(log: string[], name: string) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    work: async () => {
      log.push(name);
      await ended;
      return name;
    },
    end: () => end(),
  };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("so many at a time; the lowest number first, of equals who came first", async () => {
  const slots = createSlots(2);
  const log: string[] = [];
  const jobs = ["a", "b", "late", "first", "second"].map((name) => job(log, name));
  const priorities = [0, 0, 2, 1, 1];
  const results = jobs.map(({ work }, i) => slots.run(priorities[i]!, work));
  await turn();
  expect(log).toEqual(["a", "b"]);
  for (const [i, expected] of [
    [1, "first"],
    [0, "second"],
    [3, "late"],
  ] as const) {
    jobs[i]!.end();
    await turn();
    expect(log.at(-1)).toBe(expected);
  }
  for (const { end } of jobs) end();
  expect(await Promise.all(results)).toEqual(["a", "b", "late", "first", "second"]);
});

test("work that throws gives its slot back", async () => {
  const slots = createSlots(1);
  await expect(
    slots.run(0, async () => {
      throw new Error("broken");
    }),
  ).rejects.toThrow("broken");
  expect(await slots.run(0, async () => "next")).toBe("next");
});

test("an abort ends the wait without taking a slot from anybody", async () => {
  const slots = createSlots(1);
  const log: string[] = [];
  const [running, waiting] = [job(log, "running"), job(log, "waiting")];
  const first = slots.run(0, running.work);
  const controller = new AbortController();
  const called = slots.run(0, async () => "called off", controller.signal);
  const second = slots.run(0, waiting.work);
  controller.abort();
  expect(await called).toBe("called off");
  expect(await slots.run(0, async () => "at once", controller.signal)).toBe("at once");
  expect(log).toEqual(["running"]);
  running.end();
  await first;
  await turn();
  expect(log).toEqual(["running", "waiting"]);
  waiting.end();
  await second;
});
