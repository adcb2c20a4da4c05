import { expect, test } from "vitest";
import { EndpointError } from "../rollout/endpoint/error.ts";
import type { Replica } from "../rollout/endpoint/fleet.ts";
import { meanAbs, readCanary, scoreOn } from "./canary.ts";

const own = [-1, -2, -3, -4];
const previous = [-1.2, -1.8, -3.2, -3.8];
const off = (list: readonly number[], by: number) => list.map((x, i) => x + (i % 2 === 0 ? by : -by));

test("nearer to the version before is said where the versions are told apart", () => {
  expect(readCanary([off(own, 0.01)], own, previous)).toMatchObject({ nearerPrevious: false });
  const lagging = readCanary([off(previous, 0.01)], own, previous)!;
  expect(lagging.nearerPrevious).toBe(true);
  expect(lagging.meanAbs).toBeGreaterThan(0.18);
  expect(lagging.previousMeanAbs).toBeCloseTo(0.01, 12);
});

test("under the server's own noise nothing is claimed: a step of 1e-6 is no alarm in bfloat16", () => {
  const tiny = own.map((x) => x + 1e-6);
  const noisy = off(own, 0.016).map((x) => x + 1e-5);
  expect(readCanary([noisy], own, tiny)).toMatchObject({ nearerPrevious: false });
});

test("the worst replica is reported, and any that lags is seen", () => {
  const reading = readCanary([off(own, 0.001), off(own, 5), previous], own, previous)!;
  expect(reading.meanAbs).toBeCloseTo(5, 12);
  expect(reading.nearerPrevious).toBe(true);
  expect(readCanary([], own, previous)).toBeUndefined();
  expect(readCanary([own], own)).toEqual({ meanAbs: 0, nearerPrevious: false });
});

test.each([[[-1, -2]], [[]], [[-1, -2, -3, Number.NaN]], [[-1, -2, -3, Number.NEGATIVE_INFINITY]]])(
  "%j is a broken reply",
  (scores) => {
    expect(() => meanAbs(scores, own)).toThrow(EndpointError);
  },
);

test("healthy replicas that can score are asked, no others", async () => {
  const replica = (url: string, state: Replica["state"], promptLogprobs: boolean) =>
    ({
      state,
      connection: { url },
      driver: { capabilities: { promptLogprobs }, score: async (at: { url: string }) => [at.url.length] },
    }) as unknown as Replica;
  const score = scoreOn({
    replicas: [
      replica("a", "healthy", true),
      replica("bb", "quarantined", true),
      replica("ccc", "healthy", false),
      replica("dddd", "healthy", true),
    ],
  });
  expect(await score("m", [1, 2], new AbortController().signal)).toEqual([[1], [4]]);
});
