/** Public toys for tests of publication: fleets of fake servers that are closed, two adapters, and what goes wrong. */
import assert from "node:assert/strict";
import type { FleetOptions } from "./create-fleet.ts";
import { EndpointError } from "./error.ts";
import type { Fleet, Replica } from "./fleet.ts";
import { type FakeServer, fakeFleet, fakeRequest } from "./testing.ts";

/** Makes fleets, and closes all that it has made or was given. */
export function fakeFleets() {
  const fleets: Fleet[] = [];
  return {
    setUp(servers: number, options?: Partial<FleetOptions>) {
      const all = fakeFleet(servers, options);
      fleets.push(all.fleet);
      return { ...all, servers: all.servers as [FakeServer, FakeServer, FakeServer] };
    },
    /** A fleet of the test's own, to be closed too. */
    keep(fleet: Fleet) {
      fleets.push(fleet);
      return fleet;
    },
    async close() {
      await Promise.all(fleets.splice(0).map((fleet) => fleet.close()));
    },
  };
}

export const v1 = { name: "run-v1", path: "/adapters/v1" };
export const v2 = { name: "run-v2", path: "/adapters/v2" };
export const down = new EndpointError("connection", { what: "connect ECONNREFUSED" });
export const full = new EndpointError(
  "server",
  { what: "LoRA rank 64 is greater than max_lora_rank 16." },
  500,
);

/** "well", or what was thrown. */
export const outcome = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "well",
    (error: unknown) => error,
  );

export const replicaOf = (fleet: Fleet, { url }: FakeServer): Replica =>
  fleet.replicas.find(({ connection }) => connection.url === url) as Replica;
export const names = (server: FakeServer): string[] => [...server.adapters.keys()];
export const count = ({ calls }: FakeServer, call: string): number =>
  calls.filter((each) => each === call).length;

/** Makes a request that finds the server dead. */
export async function kill(fleet: Fleet, server: FakeServer, others: readonly FakeServer[]): Promise<void> {
  server.trouble = () => down;
  assert.equal(await outcome(fakeRequest(fleet, "base", { avoid: others })), down);
  assert.equal(replicaOf(fleet, server).state, "quarantined");
}
