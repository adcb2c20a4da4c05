import { afterEach, describe, expect, test } from "vitest";
import type { FleetOptions } from "./create-fleet.ts";
import type { Fleet, Replica } from "./fleet.ts";
import { broken, fail, held, never, place, where } from "./held-request.ts";
import { type FakeServer, fakeFleet, fakeServer, settled } from "./testing.ts";

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

describe("balance", () => {
  test("a group goes to one replica, a sequence stays, and spills when it is full", async () => {
    const { fleet } = setUp(3);
    const home = await fleet.run(place("g/0"), where, never());
    expect(await fleet.run(place("g/1"), where, never())).toBe(home);
    const first = held(fleet, place("g/0"));
    const second = held(fleet, place("g/1"));
    const third = held(fleet, place("g/2"));
    await settled();
    expect([first.state.at, second.state.at]).toEqual([home, home]);
    expect(third.state.at).not.toBe(home);
    for (const each of [first, second, third]) each.end();
    await Promise.all([first.done, second.done, third.done]);
    // Its cache is where it was last, until the sequence is released.
    expect(await fleet.run(place("g/2"), where, never())).toBe(third.state.at);
    fleet.release("g/2");
    expect(await fleet.run(place("g/2"), where, never())).toBe(home);
  });

  test("a request goes elsewhere than where it failed, while there is another", async () => {
    const { fleet } = setUp(2);
    const home = await fleet.run(place("g/0"), where, never());
    const other = await fleet.run(place("g/0", { avoid: new Set([home]) }), where, never());
    expect(other).not.toBe(home);
    expect(await fleet.run(place("g/0", { avoid: new Set([home, other]) }), where, never())).toMatch(/^http/);
  });

  test("no replica, or one twice, is refused", () => {
    const server = fakeServer("http://a");
    expect(() => setUp(0)).toThrow(/without a replica/);
    expect(() => setUp(1, { replicas: [server, server] })).toThrow(/listed twice.*http:\/\/a/);
  });
});

describe("backpressure", () => {
  test("requests wait in the order they came, and no replica gets more than its cap", async () => {
    const { fleet } = setUp(2);
    const order: string[] = [];
    let most = 0;
    const ends: (() => void)[] = [];
    const all = Array.from({ length: 12 }, (_, i) =>
      fleet.run(
        place(`g${i}/0`),
        () => {
          order.push(`g${i}`);
          most = Math.max(most, ...fleet.replicas.map(({ inFlight }) => inFlight));
          return new Promise<void>((resolve) => ends.push(resolve));
        },
        never(),
      ),
    );
    await settled();
    expect(order).toHaveLength(4);
    while (ends.length > 0) {
      ends.shift()?.();
      await settled();
    }
    await Promise.all(all);
    expect(order).toEqual(Array.from({ length: 12 }, (_, i) => `g${i}`));
    expect(most).toBe(2);
    expect(fleet.replicas.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });

  test("an abort while waiting rejects with its reason and takes no place", async () => {
    const { fleet } = setUp(1, { maxInFlight: 1 });
    const first = held(fleet, place("a"));
    const abort = new AbortController();
    const second = held(fleet, place("b"), abort.signal);
    const third = held(fleet, place("c"));
    const why = new Error("the episode was cancelled");
    abort.abort(why);
    await expect(second.done).rejects.toBe(why);
    first.end();
    await settled();
    expect([second.state.at, third.state.at]).toEqual([undefined, "http://10.0.0.1:8000"]);
    third.end();
    await third.done;
    await expect(fleet.run(place("d"), where, AbortSignal.abort(why))).rejects.toBe(why);
  });

  test("who waits for one model holds up nobody who wants another", async () => {
    const { fleet, servers } = setUp(2, { maxInFlight: 1 });
    const [one, two] = servers as [FakeServer, FakeServer];
    // Only the first holds v1: the second was away, and its reload hangs.
    await failAt(fleet, two.url, broken("connection"));
    two.trouble = () => "hang";
    await fleet.publish({ name: "v1", path: "/v1" }, never());
    const first = held(fleet, place("a", { model: "v1" }));
    const waits = held(fleet, place("b", { model: "v1" }));
    await settled();
    expect([first.state.at, waits.state.at]).toEqual([one.url, undefined]);
    first.end();
    await settled();
    expect(waits.state.at).toBe(one.url);
    waits.end();
    await waits.done;
  });

  test("caps follow what servers say, and 503", async () => {
    const { fleet, servers, time, events } = setUp(1, { maxInFlight: 8, metricsIntervalMs: 100 });
    const [server] = servers as [FakeServer];
    const [replica] = fleet.replicas as [Replica];
    const running = Array.from({ length: 8 }, (_, i) => held(fleet, place(`s${i}`)));
    await settled();
    server.load = { running: 8, waiting: 0, kvCacheUsage: 0.97, preemptions: 0 };
    await time.pass(100);
    expect(replica.cap).toBe(6);
    expect(replica.load?.kvCacheUsage).toBe(0.97);
    await time.pass(500);
    // Still above it: its effect is to come.
    expect(replica.cap).toBe(6);
    const late = held(fleet, place("late"));
    for (const each of running.slice(0, 3)) each.end();
    await settled();
    expect(late.state.at).toBe(server.url);
    server.load = { running: 6, waiting: 0, kvCacheUsage: 0.4, preemptions: 0 };
    await time.pass(200);
    expect(replica.cap).toBe(8);
    // Those that are turned away together lower it once; those from before it was last lowered do not.
    for (const each of running.slice(3)) each.end(broken("overloaded"));
    await settled();
    expect(replica.cap).toBe(8);
    const more = Array.from({ length: 7 }, (_, i) => held(fleet, place(`t${i}`)));
    await settled();
    for (const each of more) each.end(broken("overloaded"));
    await settled();
    expect(replica.cap).toBe(4);
    expect(replica.state).toBe("healthy");
    expect(events.map((event) => event.event === "replicaCap" && event.cap)).toEqual([6, 7, 8, 4]);
    late.end();
    await late.done;
  });

  test("a replica that turns away even a single request is quarantined, or it would draw them all", async () => {
    const { fleet } = setUp(1, { maxInFlight: 2 });
    const [replica] = fleet.replicas as [Replica];
    for (let i = 0; i < 3; i++) await fail(fleet, place("a"), broken("overloaded"));
    expect([replica.cap, replica.state]).toEqual([1, "healthy"]);
    await fail(fleet, place("a"), broken("overloaded"));
    expect(replica.state).toBe("quarantined");
  });
});

test("close turns away whoever waits, ends the timers and closes the connections", async () => {
  const { fleet, servers, time } = setUp(2, { maxInFlight: 1, metricsIntervalMs: 100 });
  const [one, two] = servers as [FakeServer, FakeServer];
  one.trouble = ({ what }) => (what === "metrics" ? "hang" : undefined);
  const running = held(fleet, place("a", { avoid: new Set([two.url]) }));
  await failAt(fleet, two.url, broken("connection"));
  await time.pass(100);
  const waiting = fleet.run(place("b"), where, never());
  const rejected = expect(waiting).rejects.toThrow(/fleet of inference servers is closed/);
  await fleet.close();
  await rejected;
  await expect(fleet.run(place("c"), where, never())).rejects.toThrow(/closed/);
  await expect(fleet.publish({ name: "v1", path: "/v1" }, never())).rejects.toThrow(/closed/);
  expect(time.pending).toBe(0);
  expect([one.closed, two.closed]).toEqual([true, true]);
  running.end();
  await running.done;
});
