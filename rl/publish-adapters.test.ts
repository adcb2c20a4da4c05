import { setImmediate as turn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Params } from "../engine/array.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";
import { ownScores } from "./canary.ts";
import { toyFleet } from "./fleet-toys.ts";
import { joinParams } from "./policy/adapters.ts";
import { begin, closeToys, end, held, open, openToys, server, toys, world } from "./publish-bench.ts";
import { canaryTokens } from "./publish-toys.ts";

beforeAll(openToys);
afterAll(closeToys);
beforeEach(begin);
afterEach(end);

const parts = { adapters: ["planner", "verifier"] };
/** A version of both: each as the one that its number says. */
const versionOf = (version: number, planner: number, verifier: number) => ({
  ...{ ...toys.version(planner), version, ...parts },
  trainable: joinParams({ planner: weightsOf(planner), verifier: weightsOf(verifier) }),
});
const kept = new Map<number, Params>();
/** The same arrays each time, as of a learner that left them alone. */
const weightsOf = (n: number) => {
  const params = kept.get(n) ?? toys.version(n).trainable;
  kept.set(n, params);
  return params;
};

test("each has its own name and is scored as itself; who is frozen is not loaded again, and goes when nobody uses it", async () => {
  const fleet = toyFleet([server]);
  const publisher = await open(fleet, { roles: 2 });
  const first = await publisher.publish(versionOf(0, 0, 1));
  const lease = publisher.lease();
  const name = (version: number, adapter: string) => publisher.names.of(version, 0, adapter);
  expect(name(0, "planner")).toMatch(/-r1-v0-planner$/);
  expect(lease.models).toEqual({ planner: name(0, "planner"), verifier: name(0, "verifier") });
  expect(first["canary/mean_abs"]).toBeLessThan(1e-5);

  const next = await publisher.publish(versionOf(1, 2, 1));
  const second = publisher.lease();
  expect(second).toMatchObject({ version: 1, order: 1 });
  expect(second.models).toEqual({ planner: name(1, "planner"), verifier: name(0, "verifier") });
  expect(next["canary/previous_mean_abs"]).toBeGreaterThan(0.01);
  expect(held()).toEqual([name(0, "planner"), name(0, "verifier"), name(1, "planner")]);
  const tokens = canaryTokens;
  for (const [adapter, n] of [
    ["planner", 2],
    ["verifier", 1],
  ] as const) {
    const own = await ownScores(toys.learner, tokens, weightsOf(n));
    expect(await server.scores(second.models![adapter]!, tokens)).toEqual(own);
  }

  lease.release();
  await turn();
  expect(held()).toEqual([name(0, "verifier"), name(1, "planner")]);
  await publisher.publish(versionOf(2, 2, 3));
  expect(held()).toContain(name(0, "verifier"));
  second.release();
  await turn();
  expect(held()).toEqual([name(1, "planner"), name(2, "verifier")]);
  await publisher.close();
  expect(held()).toEqual([]);
  expect(world.kinds().filter((kind) => kind === "proof")).toHaveLength(1);
});

test("a version of which one does not load is nobody's; what was loaded of it goes at the end", async () => {
  let broken = false;
  const fleet = toyFleet([server], (call, name) => {
    if (broken && call === "publish" && name.includes("verifier"))
      throw new EndpointError("refused", { what: "no" }, 400);
  });
  const publisher = await open(fleet, { roles: 2 });
  await publisher.publish(versionOf(0, 0, 1));
  broken = true;
  await expect(publisher.publish(versionOf(1, 2, 3))).rejects.toThrow();
  expect(publisher.lease()).toMatchObject({ version: 0, order: 0 });
  expect(publisher.newest).toBe(0);
  await publisher.close();
  expect(held()).toEqual([]);
});

test("the servers need a slot for each of them", async () => {
  server.slots = 9;
  await expect(open(toyFleet([server]), { roles: 5 })).rejects.toThrow(/at least 10.*roles \(5\)/);
});
