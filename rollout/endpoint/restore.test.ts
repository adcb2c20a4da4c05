import { afterEach, describe, expect, test } from "vitest";
import { never } from "./held-request.ts";
import { count, fakeFleets, kill, names, outcome, replicaOf, v1, v2 } from "./publication-toys.ts";
import { fakeRequest, gate, settled } from "./testing.ts";

const { setUp, close } = fakeFleets();
afterEach(close);

describe("a replica that restarts", () => {
  test("loads every published adapter again, once, before its next request", async () => {
    const { fleet, servers, events } = setUp(1);
    const [server] = servers;
    await fleet.publish(v1, never());
    await fleet.publish(v2, never());
    server.restart();
    const lost = await Promise.all([
      outcome(fakeRequest(fleet, v1.name, { sequence: "a" })),
      outcome(fakeRequest(fleet, v2.name, { sequence: "b" })),
      outcome(fakeRequest(fleet, v1.name, { sequence: "c" })),
    ]);
    for (const error of lost) expect(error).toMatchObject({ kind: "missingModel" });
    // They wait for the reload that is under way.
    const again = await Promise.all([fakeRequest(fleet, v1.name), fakeRequest(fleet, v2.name)]);
    expect(again).toEqual([server.url, server.url]);
    expect([count(server, "load run-v1"), count(server, "load run-v2"), count(server, "models")]).toEqual([
      2, 2, 1,
    ]);
    expect(events.at(-1)).toEqual({
      event: "replicaReloaded",
      url: server.url,
      adapters: [v1.name, v2.name],
    });
    expect(replicaOf(fleet, server).state).toBe("healthy");
  });

  test("is quarantined when it cannot load them, and tried again", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    await fleet.publish(v1, never());
    one.restart();
    one.sees = () => false;
    await outcome(fakeRequest(fleet, v1.name, { avoid: [two] }));
    await settled();
    expect(replicaOf(fleet, one).state).toBe("quarantined");
    expect(await fakeRequest(fleet, v1.name, { avoid: [two] })).toBe(two.url);
    one.sees = () => true;
    await time.pass(1000);
    expect(await fakeRequest(fleet, v1.name, { avoid: [two] })).toBe(one.url);
  });

  test("in the middle of a publication holds the new adapter too", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    await fleet.publish(v1, never());
    two.sees = (path) => path !== v2.path;
    const published = outcome(fleet.publish(v2, never()));
    await settled();
    expect(names(one)).toEqual([v1.name, v2.name]);
    one.restart();
    await outcome(fakeRequest(fleet, v1.name, { avoid: [two] }));
    await settled();
    two.sees = () => true;
    await time.pass(500);
    expect(await published).toBe("well");
    await settled();
    for (const server of [one, two]) {
      expect(names(server)).toEqual([v1.name, v2.name]);
      expect([...replicaOf(fleet, server).adapters]).toEqual([v1.name, v2.name]);
    }
  });

  test("while it loads what it came too late for loses nothing", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    await fleet.publish(v1, never());
    await kill(fleet, two, [one]);
    one.sees = (path) => path !== v2.path;
    const published = fleet.publish(v2, never());
    const { opened, open } = gate();
    two.trouble = ({ what, name }) => (what === "load" && name === v2.name ? opened : undefined);
    await time.pass(1000);
    expect(await fakeRequest(fleet, v1.name, { avoid: [one] })).toBe(two.url);
    one.sees = () => true;
    await time.pass(500);
    await published;
    // It is loading v2 now.
    two.restart();
    expect(await outcome(fakeRequest(fleet, v1.name, { avoid: [one] }))).toMatchObject({
      kind: "missingModel",
    });
    open();
    await settled();
    expect(names(two).toSorted()).toEqual([v1.name, v2.name]);
    expect([...replicaOf(fleet, two).adapters].toSorted()).toEqual([v1.name, v2.name]);
  });

  test("while it reloads is asked to load again", async () => {
    const { fleet, servers } = setUp(1);
    const [server] = servers;
    await fleet.publish(v1, never());
    server.restart();
    const { opened, open } = gate();
    server.trouble = ({ what }) => (what === "load" ? opened : undefined);
    await outcome(fakeRequest(fleet, v1.name));
    const published = fleet.publish(v2, never());
    await settled();
    open();
    await published;
    expect(await fakeRequest(fleet, v2.name)).toBe(server.url);
    expect(await fakeRequest(fleet, v1.name)).toBe(server.url);
  });

  test("with adapters that it still holds is not made to load them twice", async () => {
    const { fleet, servers, time } = setUp(2);
    const [one, two] = servers;
    await fleet.publish(v1, never());
    await kill(fleet, one, [two]);
    one.trouble = () => undefined;
    await time.pass(1000);
    expect(await fakeRequest(fleet, v1.name, { avoid: [two] })).toBe(one.url);
    expect(count(one, "load run-v1")).toBe(1);
  });

  test("with another folder under our name gets no request", async () => {
    const { fleet, servers, time, events } = setUp(2);
    const [one, two] = servers;
    await fleet.publish(v1, never());
    await kill(fleet, one, [two]);
    one.trouble = () => undefined;
    one.adapters.set(v1.name, "/somewhere/else");
    await time.pass(1000);
    expect(replicaOf(fleet, one).state).toBe("quarantined");
    expect(events.at(-1)).toMatchObject({ why: expect.stringContaining("another adapter under the name") });
  });
});
