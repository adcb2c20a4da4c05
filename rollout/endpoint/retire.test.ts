import { afterEach, describe, expect, test } from "vitest";
import { createFleet } from "./create-fleet.ts";
import { never } from "./held-request.ts";
import {
  count,
  down,
  fakeFleets,
  full,
  kill,
  names,
  outcome,
  replicaOf,
  v1,
  v2,
} from "./publication-toys.ts";
import { fakeRequest, gate, settled } from "./testing.ts";

const { setUp, keep, close } = fakeFleets();
afterEach(close);

describe("retire", () => {
  test("waits for requests under way and in the line, then unloads", async () => {
    const { fleet, servers } = setUp(1, { maxInFlight: 1 });
    const [server] = servers;
    await fleet.publish(v1, never());
    const { opened, open } = gate();
    server.trouble = ({ what }) => (what === "generate" ? opened : undefined);
    const running = fakeRequest(fleet, v1.name, { sequence: "a" });
    const waiting = fakeRequest(fleet, v1.name, { sequence: "b" });
    const retired = outcome(fleet.retire(v1.name, never()));
    const off = new AbortController();
    const calledOff = outcome(fleet.retire(v1.name, off.signal));
    await settled();
    const reason = new Error("interrupted");
    off.abort(reason);
    expect(await calledOff).toBe(reason);
    expect(fleet.published.has(v1.name)).toBe(true);
    expect(count(server, "unload run-v1")).toBe(0);
    open();
    await Promise.all([running, waiting]);
    expect(await retired).toBe("well");
    expect([names(server), [...fleet.published.keys()]]).toEqual([[], []]);
    await expect(fakeRequest(fleet, v1.name)).rejects.toThrow(/`run-v1` was retired/);
    // A second time, and a name that never was, are nothing to do.
    await fleet.retire(v1.name, never());
    await fleet.retire("run-v9", never());
    expect(count(server, "unload run-v1")).toBe(1);
    expect(count(server, "unload run-v9")).toBe(0);
  });

  test("a replica in quarantine unloads it when it comes back, and never names of others", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    one.adapters.set("other-run-v1", "/other");
    await fleet.publish(v1, never());
    await fleet.publish(v2, never());
    await kill(fleet, one, [two]);
    one.trouble = () => "hang";
    // It is not asked: no time passes.
    await fleet.retire(v1.name, never());
    expect(names(two)).toEqual([v2.name]);
    one.trouble = () => undefined;
    await time.pass(1000);
    expect(names(one)).toEqual(["other-run-v1", v2.name]);
    expect([...replicaOf(fleet, one).adapters]).toEqual([v2.name]);
  });

  test("a replica that refuses to unload is an error; another call tries again", async () => {
    const { fleet, servers } = setUp(2);
    const [one, two] = servers;
    await fleet.publish(v1, never());
    one.trouble = ({ what }) => (what === "unload" ? full : undefined);
    await expect(fleet.retire(v1.name, never())).rejects.toThrow(
      /could not be unloaded.*10\.0\.0\.1.*Keep its folder/,
    );
    expect([one, two].map(names)).toEqual([[v1.name], []]);
    one.trouble = () => undefined;
    await fleet.retire(v1.name, never());
    expect(names(one)).toEqual([]);
  });

  test("one that cannot be reached is quarantined and does not count", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one] = servers;
    await fleet.publish(v1, never());
    one.trouble = ({ what }) => (what === "unload" ? down : undefined);
    await fleet.retire(v1.name, never());
    expect(replicaOf(fleet, one).state).toBe("quarantined");
    one.trouble = () => undefined;
    await time.pass(1000);
    expect(names(one)).toEqual([]);
  });

  test("in the middle of a probe leaves nothing behind", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    await kill(fleet, one, [two]);
    await fleet.publish(v1, never());
    await fleet.publish(v2, never());
    const { opened, open } = gate();
    one.trouble = ({ what, name }) => (what === "load" && name === v2.name ? opened : undefined);
    await time.pass(1000);
    expect(names(one)).toEqual([v1.name]);
    await fleet.retire(v1.name, never());
    open();
    await settled();
    expect(names(one)).toEqual([v2.name]);
    expect([...replicaOf(fleet, one).adapters]).toEqual([v2.name]);
  });

  test("in the middle of a reload leaves nothing behind, though the folder is gone", async () => {
    const { fleet, servers } = setUp(1);
    const [server] = servers;
    await fleet.publish(v1, never());
    await fleet.publish(v2, never());
    server.restart();
    const { opened, open } = gate();
    server.trouble = ({ what, name }) => (what === "load" && name === v1.name ? opened : undefined);
    await outcome(fakeRequest(fleet, v2.name));
    await settled();
    const retired = fleet.retire(v1.name, never());
    server.sees = (path) => path !== v1.path;
    open();
    await retired;
    expect(await fakeRequest(fleet, v2.name)).toBe(server.url);
    expect(names(server)).toEqual([v2.name]);
    expect(replicaOf(fleet, server).state).toBe("healthy");
  });
});

test("two runs share a server and leave each other's adapters alone", async () => {
  const { fleet, servers, time } = setUp(1);
  const [server] = servers;
  const theirs = { name: "other-v1", path: "/other/v1" };
  const other = keep(
    createFleet({
      replicas: [server],
      maxInFlight: 4,
      probeIntervalMs: 1000,
      metricsIntervalMs: 0,
      loadRetryMs: 500,
      after: time.after,
    }),
  );
  await Promise.all([fleet.publish(v1, never()), other.publish(theirs, never())]);
  server.restart();
  await Promise.all([outcome(fakeRequest(fleet, v1.name)), outcome(fakeRequest(other, theirs.name))]);
  await Promise.all([fakeRequest(fleet, v1.name), fakeRequest(other, theirs.name)]);
  // The same name is refused, and what is there stays.
  await expect(other.publish(v1, never())).rejects.toThrow(/already been loaded/);
  expect(names(server).toSorted()).toEqual([theirs.name, v1.name]);
  await fleet.retire(v1.name, never());
  expect(names(server)).toEqual([theirs.name]);
});

test("a replica that was away when its adapter was retired gives it up as the fleet closes, if it is there then", async () => {
  const { fleet, servers, events } = setUp(3);
  const [one, two, three] = servers;
  await fleet.publish(v1, never());
  await kill(fleet, two, [one, three]);
  await kill(fleet, three, [one, two]);
  await fleet.retire(v1.name, never());
  expect([names(one), names(two), names(three)]).toEqual([[], [v1.name], [v1.name]]);
  two.trouble = () => undefined;
  await fleet.close();
  expect([names(two), names(three)]).toEqual([[], [v1.name]]);
  expect(events.at(-1)).toMatchObject({ event: "adapterLeftBehind", url: three.url, name: v1.name });
  expect(servers.map(({ closed }) => closed)).toEqual([true, true, true]);
});
