import { setImmediate as turn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { EndpointError } from "../rollout/endpoint/error.ts";
import { toyFleet } from "./fleet-toys.ts";
import { begin, closeToys, end, held, open, openToys, server, toys, world } from "./publish-bench.ts";
import { canaryTokens, limits } from "./publish-toys.ts";

beforeAll(openToys);
afterAll(closeToys);
beforeEach(begin);
afterEach(end);

describe("one version after the other", () => {
  test("version 0 is an adapter; the servers are proven to apply adapters; old versions go, folders after them", async () => {
    const fleet = toyFleet([server]);
    const publisher = await open(fleet);
    const metrics = [];
    for (const version of [0, 1, 2]) metrics.push(await publisher.publish(toys.version(version)));
    const { run } = publisher.names;
    expect(server.accepted).toEqual([`${run}-r1-probe`, `${run}-r1-v0`, `${run}-r1-v1`, `${run}-r1-v2`]);
    expect(world.kinds()).toContain("proof");
    expect(metrics[0]).not.toHaveProperty("canary/previous_mean_abs");
    for (const m of metrics) expect(m["canary/mean_abs"]).toBeLessThan(1e-5);
    expect(metrics[2]!["canary/previous_mean_abs"]).toBeGreaterThan(0.01);
    expect(metrics[2]!["canary/nearer_previous"]).toBe(0);
    await publisher.close();
    expect(held()).toEqual([]);
    expect(world.folders()).toEqual([]);
  });

  test("publishing the newest again does nothing; an older one is refused", async () => {
    const publisher = await open(toyFleet([server]));
    await publisher.publish(toys.version(3));
    expect(await publisher.publish(toys.version(3))).toEqual({});
    await expect(publisher.publish(toys.version(2))).rejects.toThrow(/2 after 3/);
    expect(server.accepted).toHaveLength(2);
    await publisher.close();
  });

  test("a lease keeps its version until it is released, however old", async () => {
    const fleet = toyFleet([server]);
    const publisher = await open(fleet);
    await publisher.publish(toys.version(0));
    const lease = publisher.lease();
    expect(lease).toMatchObject({ version: 0, order: 0, model: publisher.names.of(0, 0) });
    await publisher.publish(toys.version(2));
    await publisher.publish(toys.version(4));
    await turn();
    expect(publisher.newest).toBe(2);
    expect(held()).toEqual([0, 4].map((version) => publisher.names.of(version, 0)));
    lease.release();
    lease.release();
    await turn();
    expect(held()).toEqual([publisher.names.of(4, 0)]);
    await publisher.close();
  });

  test("as many versions stay as may still be trained on; unloaded folders stay as told", async () => {
    const publisher = await open(toyFleet([server]), {
      maxStaleness: 2,
      config: { ...limits, keepFolders: 1 },
    });
    let most = 0;
    for (let version = 0; version < 6; version++) {
      await publisher.publish(toys.version(version));
      most = Math.max(most, server.held.size);
    }
    // Load before unload: never more than maxStaleness + 2.
    expect(most).toBe(4);
    await publisher.close();
    expect(held()).toEqual([]);
    expect(world.folders()).toEqual([publisher.names.of(5, 0)]);
  });

  test("an unload that fails is told, tried again, and costs no folder", async () => {
    let failures = 2;
    const fleet = toyFleet([server], (call, name) => {
      if (call === "retire" && name.endsWith("-v0") && failures-- > 0)
        throw new EndpointError("server", { what: "500" });
    });
    const publisher = await open(fleet);
    for (let version = 0; version < 4; version++) await publisher.publish(toys.version(version));
    await publisher.close();
    expect(world.kinds().filter((kind) => kind === "unloadFailed")).toHaveLength(2);
    expect(held()).toEqual([]);
  });
});

describe("what the servers really serve", () => {
  test("a server that takes adapters and ignores them stops the run before step 0", async () => {
    server.ignores = true;
    const publisher = await open(toyFleet([server]));
    await expect(publisher.publish(toys.version(0))).rejects.toThrow(
      /takes adapters and does not apply them/,
    );
    expect(held()).toEqual([]);
  });

  test("one that still serves the version before is seen, also among good ones", async () => {
    const good = toys.server("http://good");
    const fleet = toyFleet([good, server]);
    const publisher = await open(fleet);
    await publisher.publish(toys.version(1));
    server.lags = true;
    const m = await publisher.publish(toys.version(2));
    expect(m["canary/nearer_previous"]).toBe(1);
    expect(m["canary/mean_abs"]).toBeGreaterThan(0.01);
    expect(m["canary/previous_mean_abs"]).toBeLessThan(1e-5);
    await publisher.close();
  });

  test("a score that fails costs the reading, not the run", async () => {
    const fleet = toyFleet([server]);
    let broken = false;
    const publisher = await open(fleet, {
      canary: {
        tokens: canaryTokens,
        score: (...call) =>
          broken ? Promise.reject(new EndpointError("timeout", { what: "slow" })) : fleet.score(...call),
      },
    });
    await publisher.publish(toys.version(0));
    broken = true;
    expect(Object.keys(await publisher.publish(toys.version(1)))).toEqual(["seconds_publish"]);
    expect(world.kinds()).toContain("canaryFailed");
    await publisher.close();
  });

  test("without a canary it says so", async () => {
    const fleet = toyFleet([server]);
    const publisher = await open(fleet, { canary: undefined });
    expect(world.kinds()).toContain("noCanary");
    expect(await publisher.publish(toys.version(0))).toEqual({ seconds_publish: expect.any(Number) });
    await publisher.close();
  });
});

describe("adapter slots, before step 0", () => {
  test("too few are refused, with the number that is needed", async () => {
    server.slots = 3;
    const two = { maxStaleness: 1, roles: 1 };
    await (await open(toyFleet([server]), two)).close();
    server.slots = 2;
    await expect(open(toyFleet([server]), two)).rejects.toThrow(ConfigError);
    await expect(open(toyFleet([server]), two)).rejects.toThrow(/at least 3.*--max-loras 3/s);
  });

  test("the config speaks only where no server does; where nobody does, the number is told", async () => {
    const of = (adapterSlots: number) => ({ ...limits, adapterSlots });
    await expect(open(toyFleet([server]), { config: of(1) })).rejects.toThrow(/adapterSlots/);
    server.slots = 8;
    await open(toyFleet([server]), { config: of(1) });
    delete server.slots;
    await open(toyFleet([server]), { roles: 5 });
    expect(world.events.find(({ kind }) => kind === "slots")!.text).toContain("--max-loras 10");
  });
});
