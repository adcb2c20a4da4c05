import { afterEach, describe, expect, test } from "vitest";
import type { FleetOptions } from "./create-fleet.ts";
import { EndpointError, type EndpointFailure } from "./error.ts";
import type { Fleet } from "./fleet.ts";
import { broken, fail, held, never, place, where } from "./held-request.ts";
import { type FakeServer, fakeFleet, gate, settled } from "./testing.ts";

const fleets: Fleet[] = [];
afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.close()));
});

function setUp(count: number, options?: Partial<FleetOptions>) {
  const all = fakeFleet(count, { maxInFlight: 2, ...options });
  fleets.push(all.fleet);
  return all;
}

async function failAt(fleet: Fleet, url: string, error: unknown): Promise<void> {
  const others = fleet.replicas.map(({ connection }) => connection.url).filter((other) => other !== url);
  expect(await fail(fleet, place("x", { avoid: new Set(others) }), error)).toBe(error);
}

const stateOf = (fleet: Fleet, { url }: FakeServer) =>
  fleet.replicas.find(({ connection }) => connection.url === url)?.state;

describe("quarantine", () => {
  test.each<[EndpointFailure, number]>([
    ["connection", 1],
    ["timeout", 3],
    ["server", 3],
    ["malformed", 3],
  ])("%s quarantines after %i", async (kind, times) => {
    const { fleet, servers } = setUp(2);
    const [one, two] = servers as [FakeServer, FakeServer];
    for (let i = 0; i < times; i++) {
      expect(stateOf(fleet, one)).toBe("healthy");
      await failAt(fleet, one.url, broken(kind));
    }
    expect(stateOf(fleet, one)).toBe("quarantined");
    expect(stateOf(fleet, two)).toBe("healthy");
  });

  test("an answer of another model quarantines at once", async () => {
    const { fleet, servers } = setUp(2);
    const [one] = servers as [FakeServer, FakeServer];
    await failAt(fleet, one.url, broken("malformed", "base"));
    expect(stateOf(fleet, one)).toBe("quarantined");
  });

  test("refusals, cancelled requests and models of others count for nothing", async () => {
    const { fleet, servers } = setUp(1);
    const errors = [broken("refused"), new DOMException("gone", "AbortError"), broken("missingModel")];
    for (let i = 0; i < 12; i++) await fail(fleet, place("a"), errors[i % 3]);
    expect(stateOf(fleet, servers[0] as FakeServer)).toBe("healthy");
  });

  test("sequences of a quarantined replica move", async () => {
    const { fleet } = setUp(3);
    const home = await fleet.run(place("g/0"), where, never());
    await failAt(fleet, home, broken("connection"));
    const moved = await fleet.run(place("g/0"), where, never());
    expect(moved).not.toBe(home);
    expect(await fleet.run(place("g/0"), where, never())).toBe(moved);
  });

  test("back-off, health probe, one request, and only then the rest", async () => {
    const { fleet, servers, time, events } = setUp(1, { maxInFlight: 8 });
    const [server] = servers as [FakeServer];
    server.trouble = () => broken("connection");
    await failAt(fleet, server.url, broken("connection"));
    const waiting = Array.from({ length: 4 }, (_, i) => held(fleet, place(`s${i}`)));
    const probes = () => server.calls.filter((call) => call === "models").length;
    await time.pass(999);
    expect(probes()).toBe(0);
    await time.pass(1);
    expect(probes()).toBe(1);
    // 2 s, then 4 s.
    await time.pass(1999);
    expect(probes()).toBe(1);
    await time.pass(1);
    expect(probes()).toBe(2);
    server.trouble = () => undefined;
    await time.pass(3999);
    expect(waiting.filter(({ state }) => state.at)).toHaveLength(0);
    await time.pass(1);
    expect(stateOf(fleet, server)).toBe("probing");
    expect(waiting.map(({ state }) => state.at !== undefined)).toEqual([true, false, false, false]);
    waiting[0]?.end();
    await settled();
    expect(stateOf(fleet, server)).toBe("healthy");
    expect(waiting.every(({ state }) => state.at === server.url)).toBe(true);
    for (const each of waiting) each.end();
    await Promise.all(waiting.map(({ done }) => done));
    expect(events.map(({ event }) => event)).toEqual([
      "replicaQuarantined",
      "replicaQuarantined",
      "replicaQuarantined",
      "replicaProbing",
      "replicaHealthy",
    ]);
  });

  test("a trial that fails doubles the back-off; one that was called off is made again", async () => {
    const { fleet, servers, time } = setUp(1);
    const [server] = servers as [FakeServer];
    await failAt(fleet, server.url, broken("connection"));
    await time.pass(1000);
    expect(await fail(fleet, place("a"), new DOMException("gone", "AbortError"))).toBeInstanceOf(
      DOMException,
    );
    expect(stateOf(fleet, server)).toBe("probing");
    await failAt(fleet, server.url, broken("server"));
    expect(stateOf(fleet, server)).toBe("quarantined");
    await time.pass(1999);
    expect(stateOf(fleet, server)).toBe("quarantined");
    await time.pass(1);
    expect(await fleet.run(place("a"), where, never())).toBe(server.url);
    expect(stateOf(fleet, server)).toBe("healthy");
  });

  test("requests from before the quarantine say nothing about it", async () => {
    const { fleet, servers, time } = setUp(1, { maxInFlight: 4 });
    const [server] = servers as [FakeServer];
    const old = Array.from({ length: 4 }, (_, i) => held(fleet, place(`s${i}`)));
    await settled();
    old[0]?.end(broken("connection"));
    old[1]?.end(broken("connection"));
    old[2]?.end();
    await settled();
    expect(stateOf(fleet, server)).toBe("quarantined");
    await time.pass(1000);
    expect(stateOf(fleet, server)).toBe("probing");
    old[3]?.end(broken("connection"));
    await settled();
    expect(stateOf(fleet, server)).toBe("probing");
    expect(fleet.replicas[0]?.inFlight).toBe(0);
  });

  test("all replicas dead: requests wait until one is back, or until their own deadline", async () => {
    const { fleet, servers, time } = setUp(3);
    for (const server of servers) server.trouble = () => broken("connection");
    for (const { url } of servers) await failAt(fleet, url, broken("connection"));
    const deadline = new AbortController();
    const late = fleet.run(place("a"), where, deadline.signal);
    const patient = fleet.run(place("b"), where, never());
    const reason = new EndpointError("timeout", { what: "the turn had no end" });
    deadline.abort(reason);
    await expect(late).rejects.toBe(reason);
    const [, two] = servers as [FakeServer, FakeServer, FakeServer];
    two.trouble = () => undefined;
    await time.pass(1000);
    expect(await patient).toBe(two.url);
  });

  test("a probe that hangs is over after the time limit of a call", async () => {
    const { fleet, servers, time } = setUp(1, { callTimeoutMs: 5000 });
    const [server] = servers as [FakeServer];
    server.trouble = () => "hang";
    await failAt(fleet, server.url, broken("connection"));
    await time.pass(6000);
    server.trouble = () => undefined;
    await time.pass(2000);
    expect(await fleet.run(place("a"), where, never())).toBe(server.url);
  });

  test("a dead replica is noticed by its metrics; a server without metrics is not dead", async () => {
    const { fleet, servers, time } = setUp(2, { metricsIntervalMs: 100 });
    const [one, two] = servers as [FakeServer, FakeServer];
    one.trouble = () => broken("connection");
    two.trouble = () => broken("refused");
    await time.pass(100);
    expect([stateOf(fleet, one), stateOf(fleet, two)]).toEqual(["quarantined", "healthy"]);
  });
});

test("metrics that were asked for before a quarantine say nothing about it", async () => {
  const { fleet, servers, time } = setUp(1, { metricsIntervalMs: 100 });
  const [server] = servers as [FakeServer];
  const { opened, refuse } = gate();
  server.trouble = ({ what }) => (what === "metrics" ? opened : undefined);
  await time.pass(100);
  await failAt(fleet, server.url, broken("connection"));
  await time.pass(1000);
  expect(stateOf(fleet, server)).toBe("probing");
  refuse(broken("connection"));
  await settled();
  expect(stateOf(fleet, server)).toBe("probing");
});
