import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Trajectory } from "../rollout/trajectory.ts";
import { appendTimings, readLatency } from "./timing.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-timing-"));
afterAll(() => rmSync(folder, { recursive: true }));

const episode = (
  id: string,
  seconds: number,
  searches: readonly [ms: number, repeated: boolean][] = [],
): Trajectory => ({
  task: { id, question: "?", goldenAnswers: ["g"], dataset: "toy", hops: 1 },
  member: 0,
  sequences: [],
  outcome: "answered",
  ending: {
    ...{ outcome: "answered", turns: 1, invalidActions: 0, observationTokensCut: 0 },
    searches: searches.map(([milliseconds, repeated]) => ({
      query: "q",
      passageIds: [],
      repeated,
      milliseconds,
    })),
  },
  temperature: 0,
  seconds,
});

test("median and tail; an episode played again counts once, a torn line not at all, a repeated search neither", () => {
  expect(readLatency(folder)).toBeUndefined();
  appendTimings(folder, [
    episode("a", 9),
    episode("b", 2, [
      [30, false],
      [0, true],
    ]),
  ]);
  appendFileSync(join(folder, "timings.jsonl"), '{"id":"c","sam');
  appendFileSync(join(folder, "timings.jsonl"), "\n");
  appendTimings(folder, [episode("a", 1, [[10, false]]), episode("d", 3)]);
  const latency = readLatency(folder);
  expect(latency).toMatchObject({ episodes: 3, medianSeconds: 2, medianSearchMilliseconds: 20 });
  expect(latency?.p95Seconds).toBeGreaterThan(2.5);
});

test("no searches, no time of a search", () => {
  const other = mkdtempSync(join(folder, "x-"));
  appendTimings(other, [episode("a", 1)]);
  expect(readLatency(other)).toEqual({ episodes: 1, medianSeconds: 1, p95Seconds: 1 });
});
