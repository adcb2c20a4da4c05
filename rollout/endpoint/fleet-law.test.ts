import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { never } from "./held-request.ts";
import { down, fakeFleets, full, names, outcome, replicaOf } from "./publication-toys.ts";
import { type FakeServer, fakeRequest, settled } from "./testing.ts";

const { setUp, close } = fakeFleets();
afterEach(close);

test("law: whatever happened, in the end every server holds what is published, and nothing else of ours", async () => {
  const at = fc.nat(2);
  const happening = fc.oneof(
    fc.record({ what: fc.constantFrom("publish", "retire", "pass") }),
    fc.record({ what: fc.constantFrom("down", "hang", "refuse", "up", "restart", "generate"), at }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 40 }), async (story) => {
      const { fleet, servers, time } = setUp(3, { callTimeoutMs: 400, loadRetryMs: 100 });
      for (const server of servers) server.adapters.set("foreign", "/foreign");
      const open: Promise<unknown>[] = [];
      const published: string[] = [];
      for (const event of story) {
        const server = servers["at" in event ? event.at : 0] as FakeServer;
        const some = published[published.length >> 1];
        if (event.what === "publish") {
          const name = `run-v${published.length}`;
          published.push(name);
          open.push(outcome(fleet.publish({ name, path: `/adapters/${name}` }, never())));
        } else if (event.what === "retire" && some) open.push(outcome(fleet.retire(some, never())));
        else if (event.what === "pass") await time.pass(700);
        else if (event.what === "down") server.trouble = () => down;
        else if (event.what === "hang") server.trouble = ({ what }) => (what === "load" ? "hang" : undefined);
        else if (event.what === "refuse") server.trouble = ({ what }) => (what === "load" ? full : undefined);
        else if (event.what === "up") server.trouble = () => undefined;
        else if (event.what === "restart") {
          server.restart();
          server.adapters.set("foreign", "/foreign");
        } else if (event.what === "generate") {
          const model = [...fleet.published.keys()][0] ?? "base";
          const avoid = servers.filter((other) => other !== server);
          open.push(outcome(fakeRequest(fleet, model, { avoid })));
        }
        await settled();
      }
      for (const server of servers) server.trouble = () => undefined;
      await time.pass(200_000);
      await Promise.all(open);
      // Each replica is asked once for each adapter, so that losses are noticed, and then again.
      for (let round = 0; round < 2; round++)
        for (const model of fleet.published.keys())
          for (const server of servers) {
            const avoid = servers.filter((other) => other !== server);
            await outcome(fakeRequest(fleet, model, { avoid }));
            await time.pass(2000);
          }
      // A last publication sweeps what could not be unloaded before.
      await fleet.publish({ name: "last", path: "/adapters/last" }, never());
      const expected = ["foreign", ...fleet.published.keys()].toSorted();
      for (const server of servers) {
        expect(names(server).toSorted()).toEqual(expected);
        const held = [...replicaOf(fleet, server).adapters, "foreign"];
        expect(held.toSorted()).toEqual(expected);
        expect(replicaOf(fleet, server).inFlight).toBe(0);
      }
      await fleet.close();
      expect(time.pending).toBe(0);
    }),
    { numRuns: 60 },
  );
});
