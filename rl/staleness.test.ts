import { expect, test } from "vitest";
import { toyTask, toyTrajectory } from "../reward/testing.ts";
import type { Collected, Judged } from "./collect.ts";
import type { Lease } from "./remote.ts";
import { dropStale } from "./staleness.ts";

const lease = (version: number, order: number): Lease => ({
  ...{ version, order, model: `v${version}`, trainable: {}, release() {} },
});
/** A group whose members were sampled by these versions. */
const group = (id: string, versions: readonly number[], verdict: Judged["verdict"] = "kept"): Judged => ({
  verdict,
  group: {
    task: { ...toyTask, id },
    members: versions.map((version, member) => {
      const segment = { source: "policy" as const, text: "x", tokens: [1], logprobs: [-1], version };
      const sequences = [
        { seat: "s", segments: [{ source: "prompt" as const, text: "q", tokens: [0] }, segment] },
      ];
      return { ...toyTrajectory([]), member, sequences, parts: {}, reward: member };
    }),
  },
});
const collected = (...sampled: Judged[]): Collected => ({
  ...{ sampled, kept: sampled.filter(({ verdict }) => verdict === "kept"), failed: [], batches: 1 },
  retries: 0,
  seconds: { rollout: 0, reward: 0 },
});
// Two updates a step: versions 0, 2, 4 were the publications 0, 1, 2.
const leases = [lease(0, 0), lease(2, 1), lease(4, 2)];

test("staleness counts publications; what is older than allowed is dropped, and counted", () => {
  const before = collected(
    group("a", [0, 0]),
    group("b", [2, 2]),
    group("c", [4, 4]),
    group("d", [0, 0], "tie"),
  );
  const { collected: after, metrics } = dropStale(before, { leases, newest: 2, maxStaleness: 1 });
  expect(after.kept.map(({ group: { task } }) => task.id)).toEqual(["b", "c"]);
  expect(after.sampled.map(({ verdict }) => verdict)).toEqual(["stale", "kept", "kept", "tie"]);
  expect(metrics).toEqual({ staleness_mean: 0.5, staleness_max: 1, stale_groups: 1 });
});

test("a group keeps one version: two are dropped, however new", () => {
  const { metrics, collected: after } = dropStale(collected(group("a", [4, 2])), {
    leases,
    newest: 2,
    maxStaleness: 5,
  });
  expect(after.kept).toEqual([]);
  expect(metrics.stale_groups).toBe(1);
});

test("a version that the step was not given is a broken promise", () => {
  expect(() => dropStale(collected(group("a", [7, 7])), { leases, newest: 2, maxStaleness: 9 })).toThrow(
    /got 7/,
  );
});

test("of a team's allowance of two updates the third is too old", () => {
  const four = [0, 1, 2, 3].map((order) => lease(2 * order, order));
  const before = collected(group("a", [0, 0]), group("b", [2, 2]), group("c", [6, 6]));
  const { collected: after, metrics } = dropStale(before, { leases: four, newest: 3, maxStaleness: 2 });
  expect(after.kept.map(({ group: { task } }) => task.id)).toEqual(["b", "c"]);
  expect(metrics).toMatchObject({ staleness_max: 2, stale_groups: 1 });
});
