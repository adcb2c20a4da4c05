/** Public toy for tests of endpoints: many servers as one, without health, caps or adapters. */
import type { Driver } from "./driver.ts";
import type { Fleet, Placement, Replica } from "./fleet.ts";
import { openConnection } from "./open-connection.ts";
import { vllm } from "./vllm.ts";

/** Takes the first server that the request has not failed on; notes what it was asked. */
export function toyFleet(urls: readonly string[], driver: Driver = vllm) {
  const replicas = urls.map((url): Replica => {
    const connection = openConnection({ url });
    return {
      connection,
      driver,
      state: "healthy",
      inFlight: 0,
      cap: 99,
      load: undefined,
      adapters: new Set(),
    };
  });
  const placements: Placement[] = [];
  const ends: unknown[] = [];
  const released: string[] = [];
  const fleet: Fleet = {
    replicas,
    async run(placement, work) {
      placements.push({ ...placement, avoid: new Set(placement.avoid) });
      const free = replicas.find(({ connection }) => !placement.avoid?.has(connection.url)) ?? replicas[0];
      try {
        return await work(free as Replica);
      } catch (error) {
        ends.push(error);
        throw error;
      }
    },
    release: (sequence) => void released.push(sequence),
    publish: async () => {},
    retire: async () => {},
    published: new Map(),
    close: async () => {
      for (const { connection } of replicas) connection.close();
    },
  };
  return { fleet, placements, ends, released };
}
