import { afterEach, describe, expect, test } from "vitest";
import { EndpointError } from "./error.ts";
import { never } from "./held-request.ts";
import { count, down, fakeFleets, full, names, outcome, replicaOf, v1, v2 } from "./publication-toys.ts";
import { fakeRequest, gate, settled } from "./testing.ts";

const { setUp, close } = fakeFleets();
afterEach(close);
const deadline = new EndpointError("timeout", { what: "the adapter was not loaded in time" });

describe("publish", () => {
  test("loads on every replica at once, then requests run on it", async () => {
    const { fleet, servers, events } = setUp(3);
    const { opened, open } = gate();
    for (const server of servers) server.trouble = ({ what }) => (what === "load" ? opened : undefined);
    const published = fleet.publish(v1, never());
    await settled();
    expect(servers.map(({ calls }) => calls)).toEqual(Array(3).fill(["load run-v1"]));
    expect(fleet.published.size).toBe(0);
    open();
    await published;
    expect([...fleet.published]).toEqual([[v1.name, v1.path]]);
    expect(fleet.replicas.map(({ adapters }) => [...adapters])).toEqual(Array(3).fill([v1.name]));
    expect(await fakeRequest(fleet, v1.name)).toMatch(/^http/);
    const urls = servers.map(({ url }) => url);
    expect(events).toEqual([{ event: "adapterPublished", name: v1.name, replicas: urls, without: [] }]);
  });

  test("all or nothing: where one refuses, the others unload, and the error says what each said", async () => {
    const { fleet, servers } = setUp(3);
    const [one, two, three] = servers;
    two.trouble = ({ what }) => (what === "load" ? full : undefined);
    const error = await outcome(fleet.publish(v1, never()));
    expect(error).toBeInstanceOf(EndpointError);
    expect(error).toMatchObject({ kind: "server", status: 500 });
    const { message } = error as Error;
    expect(message).toContain(`${one.url}: accepted`);
    expect(message).toContain(`${two.url}: LoRA rank 64 is greater`);
    expect(message).toContain(`${three.url}: accepted`);
    expect(servers.map(names)).toEqual([[], [], []]);
    // It had nothing to take back.
    expect(count(two, "unload run-v1")).toBe(0);
    expect(fleet.published.size).toBe(0);
    expect(fleet.replicas.every(({ state }) => state === "healthy")).toBe(true);
    // Nothing of it is left: the same name may be tried again.
    two.trouble = () => undefined;
    await fleet.publish(v1, never());
    expect(servers.map(names)).toEqual(Array(3).fill([v1.name]));
  });

  test("what could not be unloaded again is unloaded before the next load", async () => {
    const { fleet, servers, events } = setUp(2);
    const [one, two] = servers;
    one.trouble = ({ what }) => (what === "unload" ? full : undefined);
    two.trouble = ({ what }) => (what === "load" ? full : undefined);
    expect(await outcome(fleet.publish(v1, never()))).toBeInstanceOf(EndpointError);
    expect(names(one)).toEqual([v1.name]);
    expect(events).toMatchObject([{ event: "adapterLeftBehind", url: one.url, name: v1.name }]);
    for (const server of [one, two]) server.trouble = () => undefined;
    await fleet.publish(v2, never());
    expect([one, two].map(names)).toEqual([[v2.name], [v2.name]]);
  });

  test("a file system that lags is waited for", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    two.sees = () => false;
    const published = outcome(fleet.publish(v1, never()));
    await time.pass(1600);
    expect(count(two, "load run-v1")).toBe(4);
    expect(count(one, "load run-v1")).toBe(1);
    expect(fleet.published.size).toBe(0);
    two.sees = () => true;
    await time.pass(500);
    expect(await published).toBe("well");
  });

  test("but not on a replica that is quarantined meanwhile", async () => {
    const { fleet, servers, time } = setUp(2, { probeIntervalMs: 10_000 });
    const [one, two] = servers;
    two.sees = () => false;
    const published = outcome(fleet.publish(v1, never()));
    await settled();
    two.trouble = () => down;
    expect(await outcome(fakeRequest(fleet, "base", { avoid: [one] }))).toBe(down);
    two.trouble = () => undefined;
    await time.pass(500);
    expect(await published).toBe("well");
    expect([one, two].map(names)).toEqual([[v1.name], []]);
  });

  test("but not beyond the deadline, and not once another has refused", async () => {
    const { fleet, servers, time } = setUp(3);
    const [one, two, three] = servers;
    two.sees = () => false;
    const limit = new AbortController();
    const late = outcome(fleet.publish(v1, limit.signal));
    await time.pass(700);
    limit.abort(deadline);
    expect(await late).toMatchObject({ status: 404 });
    expect(((await late) as Error).message).toMatch(/No adapter found.*Let every server see \/adapters\/v1/);
    expect(servers.map(names)).toEqual([[], [], []]);

    const { opened, refuse } = gate();
    three.trouble = ({ what }) => (what === "load" ? opened : undefined);
    const refused = outcome(fleet.publish(v2, never()));
    await settled();
    refuse(full);
    // No time passes.
    expect(await refused).toBeInstanceOf(EndpointError);
    expect(names(one)).toEqual([]);
  });

  test("a replica that cannot be reached does not count, and loads it before its next request", async () => {
    const { fleet, servers, time, events } = setUp(2);
    const [one, two] = servers;
    two.trouble = () => down;
    await fleet.publish(v1, never());
    expect(replicaOf(fleet, two).state).toBe("quarantined");
    expect(events).toMatchObject([
      { event: "replicaQuarantined", url: two.url },
      { event: "adapterPublished", replicas: [one.url], without: [two.url] },
    ]);
    expect(await fakeRequest(fleet, v1.name, { avoid: [one] })).toBe(one.url);
    two.trouble = () => undefined;
    await time.pass(1000);
    expect(names(two)).toEqual([v1.name]);
    expect(await fakeRequest(fleet, v1.name, { avoid: [one] })).toBe(two.url);
  });

  test("a load that hangs is over after the time limit of a call; that it went through is no harm", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    two.trouble = ({ what }) => {
      if (what !== "load") return undefined;
      // The server is done, only its answer is lost.
      two.adapters.set(v1.name, v1.path);
      return "hang";
    };
    const published = outcome(fleet.publish(v1, never()));
    await time.pass(5000);
    expect(await published).toBe("well");
    two.trouble = () => undefined;
    await time.pass(1000);
    expect(await fakeRequest(fleet, v1.name, { avoid: [one] })).toBe(two.url);
    expect(count(two, "load run-v1")).toBe(1);
  });

  test("where none can be reached, it waits for one to come back", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    for (const server of [one, two]) server.trouble = () => down;
    const published = outcome(fleet.publish(v1, never()));
    await time.pass(1500);
    two.trouble = () => undefined;
    await time.pass(1500);
    expect(await published).toBe("well");
    expect([...replicaOf(fleet, two).adapters]).toEqual([v1.name]);
    one.trouble = () => undefined;
    await time.pass(4000);
    expect(names(one)).toEqual([v1.name]);
  });

  test("and does not miss one that came back while another hung", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    one.trouble = () => down;
    two.trouble = () => "hang";
    const published = outcome(fleet.publish(v1, never()));
    await time.pass(500);
    one.trouble = () => undefined;
    await time.pass(4500);
    expect(await published).toBe("well");
    expect([...replicaOf(fleet, one).adapters]).toEqual([v1.name]);
  });

  test("a load whose answer was lost is undone before it is made again", async () => {
    const { fleet, servers, time } = setUp(1);
    const [server] = servers;
    server.trouble = ({ what }) => {
      if (what !== "load") return undefined;
      server.trouble = () => undefined;
      server.adapters.set(v1.name, v1.path);
      return down;
    };
    const published = outcome(fleet.publish(v1, never()));
    await time.pass(1000);
    expect(await published).toBe("well");
    expect(server.calls).toEqual(["load run-v1", "models", "unload run-v1", "load run-v1"]);
  });

  test("until its deadline, which is an error that names them all", async () => {
    const { fleet, servers, time } = setUp(2);
    for (const server of servers.slice(0, 2)) server.trouble = () => down;
    const limit = new AbortController();
    const published = outcome(fleet.publish(v1, limit.signal));
    await time.pass(1500);
    limit.abort(deadline);
    const error = await published;
    expect(error).toMatchObject({ kind: "connection" });
    expect((error as Error).message).toMatch(/10\.0\.0\.1:8000: connect.*10\.0\.0\.2:8000: connect/);
  });

  test("called off: unloaded where it was accepted, its own reason, nobody's fault", async () => {
    const { fleet, servers } = setUp(2);
    const [one, two] = servers;
    two.trouble = ({ what }) => (what === "load" ? "hang" : undefined);
    const abort = new AbortController();
    const published = outcome(fleet.publish(v1, abort.signal));
    await settled();
    expect(names(one)).toEqual([v1.name]);
    const reason = new Error("interrupted");
    abort.abort(reason);
    expect(await published).toBe(reason);
    expect([one, two].map(names)).toEqual([[], []]);
    expect(fleet.replicas.every(({ state }) => state === "healthy")).toBe(true);
    expect(await outcome(fleet.publish(v2, AbortSignal.abort(reason)))).toBe(reason);
  });

  test("the deadline leaves out a replica that hangs, and keeps those that accepted", async () => {
    const { fleet, servers } = setUp(2);
    const [one, two] = servers;
    two.trouble = ({ what }) => (what === "load" ? "hang" : undefined);
    const limit = new AbortController();
    const published = outcome(fleet.publish(v1, limit.signal));
    await settled();
    limit.abort(new DOMException("late", "TimeoutError"));
    expect(await published).toBe("well");
    expect(replicaOf(fleet, two).state).toBe("quarantined");
    expect(await fakeRequest(fleet, v1.name)).toBe(one.url);
  });

  test("a name is used once", async () => {
    const { fleet } = setUp(1);
    const first = fleet.publish(v1, never());
    await expect(fleet.publish(v1, never())).rejects.toThrow(/already published as `run-v1`/);
    await first;
    await expect(fleet.publish(v1, never())).rejects.toThrow(/already published/);
    await fleet.retire(v1.name, never());
    await expect(fleet.publish(v1, never())).rejects.toThrow(/already published/);
  });

  test("the canary decides, on every replica, before the adapter counts", async () => {
    const seen: string[] = [];
    const dead = new Set<string>();
    const { fleet, servers, time } = setUp(2, {
      canary: async ({ connection, adapters }, name) => {
        seen.push(`${connection.url} ${name} ${adapters.has(name)}`);
        if (dead.has(connection.url)) throw new Error("the adapter changes nothing");
      },
    });
    const [one, two] = servers;
    dead.add(two.url);
    const error = await outcome(fleet.publish(v1, never()));
    expect(error).toMatchObject({ kind: "malformed" });
    expect((error as Error).message).toContain(`${two.url}: the adapter changes nothing`);
    expect([one, two].map(names)).toEqual([[], []]);
    expect(seen.toSorted()).toEqual([`${one.url} run-v1 false`, `${two.url} run-v1 false`]);
    dead.clear();
    await fleet.publish(v2, never());

    // Also when a replica restarts.
    two.restart();
    dead.add(two.url);
    await outcome(fakeRequest(fleet, v2.name, { avoid: [one] }));
    await settled();
    expect(replicaOf(fleet, two).state).toBe("quarantined");
    dead.clear();
    await time.pass(1000);
    expect(await fakeRequest(fleet, v2.name, { avoid: [one] })).toBe(two.url);
  });
});
